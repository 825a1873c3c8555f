import type { Client } from 'pg';
import { withClient } from '../../bench/inventory/copy-limits.js';

/** Parts of names, chosen so that some names are frequent, some rare and some unique. */
const WORDS = ['payments', 'gateway', 'mail', 'archive', 'staging', 'billing', 'vpn', 'intranet'];
const TABLES = ['asset', 'asset_occurrence', 'asset_relationship'] as const;
/** Number of certificates that expire within a month. All other certificates expire in more than a year. */
export const ENDING = 1000;
/** Names that contain special characters to be matched literally, names in other scripts, and names that are too short for a trigram. */
export const ODD_NAMES = ['100%_done key', 'Schlüssel für Österreich', 'ключ подписи', `a\\b 'c'`, '§'] as const;
/** Labels with their frequencies. A frequency of n means that one asset in n has the label. */
export const LABELS = { pci: 100, 'audit-2026': 10_000 } as const;

/**
 * Multiplies the assets of the first documents under other IDs, names and locations until there are about `total` assets. Indexes are dropped first and then
 * recreated. Returns the number of assets.
 */
export async function fillInventory(url: string, total: number, says: (line: string) => void): Promise<number> {
  return withClient(url, async (client) => {
    const there = await countOf(client, 'asset');
    const copies = Math.max(1, Math.round(total / there) - 1);
    await client.query(`SET maintenance_work_mem = '1GB'; SET work_mem = '256MB'; SET synchronous_commit = off`);
    const indexes = await dropIndexes(client);
    says(`${copies} copies of ${there} assets`);
    await client.query(insertAssets(copies));
    await markSome(client);
    says('assets are there');
    await client.query(insertPlaces(copies));
    await client.query(insertEdges(copies));
    says('places and edges are there');
    for (const definition of indexes) {
      await client.query(definition);
      says(definition.slice(0, 120));
    }
    await client.query(`UPDATE inventory_tally SET count = count * ${copies + 1}`);
    await client.query('VACUUM (ANALYZE) asset, asset_occurrence, asset_relationship');
    return countOf(client, 'asset');
  });
}

const idOf = (column: string) => `md5(${column}::text || n)::uuid`;

function insertAssets(copies: number): string {
  const word = `(ARRAY['${WORDS.join("', '")}'])[n % ${WORDS.length} + 1]`;
  const hash = 'md5(a.id::text || n)';
  const hex = `substr(${hash}, 1, 12)`;
  const name = `CASE kind WHEN 'certificate' THEN 'CN=' || ${hex} || '.' || ${word} || '.example.com' ELSE ${word} || ' key ' || ${hex} END`;
  const labels = Object.entries(LABELS).map(
    ([label, each]) =>
      `CASE WHEN ('x' || substr(${hash}, 1, 7))::bit(28)::int % ${each} = 7 THEN '{${label}}'::text[] ELSE '{}' END`,
  );
  return `INSERT INTO asset (id, kind, name, verdict_id, resolved_by, not_before, not_after, component, content, labels)
    SELECT ${idOf('a.id')}, kind, ${name}, verdict_id, resolved_by, not_before, not_after + interval '4 years', component, content, ${labels.join(' || ')}
    FROM asset a, generate_series(1, ${copies}) n WHERE kind <> 'algorithm'`;
}

/** Creates certificates that expire soon and names that are hard to search for. Selects rows by physical position, because there are no indexes. */
async function markSome(client: Client): Promise<void> {
  await client.query(
    `UPDATE asset SET not_after = now() + make_interval(days => 1 + (random() * 27)::int)
     WHERE ctid = ANY(ARRAY(SELECT ctid FROM asset WHERE kind = 'certificate' AND name LIKE 'CN=%' LIMIT ${ENDING}))`,
  );
  for (const [index, name] of ODD_NAMES.entries())
    await client.query(
      `UPDATE asset SET name = $1 WHERE ctid = (SELECT ctid FROM asset WHERE kind <> 'algorithm' AND name LIKE '% key %' OFFSET ${index} LIMIT 1)`,
      [name],
    );
}

function insertPlaces(copies: number): string {
  return `INSERT INTO asset_occurrence (asset_id, source_id, id, location, line)
    SELECT ${idOf('asset_id')}, source_id, id, 'node-' || n || '-' || location, line
    FROM asset_occurrence, generate_series(1, ${copies}) n WHERE location <> ''`;
}

function insertEdges(copies: number): string {
  return `INSERT INTO asset_relationship (from_id, to_id, source_id, kinds) SELECT ${idOf('from_id')}, to_id, source_id, kinds
    FROM asset_relationship, generate_series(1, ${copies}) n`;
}

/** Drops the indexes and returns the statements that recreate them. */
async function dropIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; table: string; definition: string; key: string | null }>(
    `SELECT c.relname AS name, i.indrelid::regclass::text AS table, pg_get_indexdef(c.oid) AS definition, pg_get_constraintdef(k.oid) AS key
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint k ON k.conindid = c.oid
     WHERE i.indrelid = ANY($1::regclass[]) ORDER BY i.indisprimary DESC, c.relname`,
    [TABLES],
  );
  for (const { name, table, key } of rows)
    await client.query(key === null ? `DROP INDEX "${name}"` : `ALTER TABLE ${table} DROP CONSTRAINT "${name}"`);
  return rows.map(({ name, table, definition, key }) =>
    key === null ? definition : `ALTER TABLE ${table} ADD CONSTRAINT "${name}" ${key}`,
  );
}

export async function countOf(client: Client, table: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? 0;
}
