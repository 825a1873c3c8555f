import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { stopQueryTimer } from '../cyclonedx/copy-stream.js';
import type { InventoryRows } from './asset-rows.js';
import { copyLine } from './copy-text.js';

const CHUNK = 256 * 1024;
const MANY = 200;

/** Temporary tables of the connection that takes documents in; emptied by every commit. Their rows are joined as sets: no indexes. */
export const STAGING = `
  CREATE TEMP TABLE IF NOT EXISTS stage_asset (
    id uuid, kind text, name text, family text, bits int, level smallint, quantum text, classical text, rule text,
    deadline date, verdict_id uuid, resolved_by jsonb, not_before timestamptz, not_after timestamptz, component jsonb, content uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_occurrence (
    asset_id uuid, id uuid, location text, line int, position int, symbol text, context text
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_relationship (
    from_id uuid, kind text, to_id uuid
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_verdict (id uuid, subject jsonb, verdict jsonb) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_created (id uuid PRIMARY KEY) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_changed (
    id uuid PRIMARY KEY, kind text, quantum text, family text, bits int, level smallint, state text, deadline date, not_after timestamptz
  ) ON COMMIT DELETE ROWS;
  CREATE TEMP TABLE IF NOT EXISTS stage_touched (id uuid PRIMARY KEY) ON COMMIT DELETE ROWS;`;

/** Fills the staging tables by COPY: the fastest way in that PostgreSQL has. */
export async function stage(client: PoolClient, rows: InventoryRows): Promise<void> {
  await copy(client, 'stage_asset', rows.assets, (row) => [
    row.id,
    row.kind,
    row.name,
    row.family,
    row.bits,
    row.level,
    row.quantum,
    row.classical,
    row.rule,
    row.deadline,
    row.verdictId,
    row.resolvedBy,
    row.notBefore,
    row.notAfter,
    row.component,
    row.content,
  ]);
  await copy(client, 'stage_occurrence', rows.occurrences, (row) => [
    row.assetId,
    row.id,
    row.location,
    row.line,
    row.position,
    row.symbol,
    row.context,
  ]);
  await copy(client, 'stage_relationship', rows.relationships, ({ fromId, kind, toId }) => [fromId, kind, toId]);
  await copy(client, 'stage_verdict', rows.verdicts, ({ id, subject, verdict }) => [id, subject, verdict]);
}

async function copy<Row>(
  client: PoolClient,
  table: string,
  rows: readonly Row[],
  fields: (row: Row) => Parameters<typeof copyLine>[0],
): Promise<void> {
  if (rows.length === 0) return;
  const stream = client.query(copyFrom(`COPY ${table} FROM STDIN`));
  const done = finished(stream);
  // A failure is heard by the await below; until then it must not count as unhandled.
  done.catch(() => undefined);
  let lines: string[] = [];
  let length = 0;
  for (const row of rows) {
    const line = copyLine(fields(row));
    lines.push(line);
    length += line.length;
    if (length < CHUNK) continue;
    if (!stream.write(lines.join(''))) await Promise.race([once(stream, 'drain'), done]);
    lines = [];
    length = 0;
  }
  stream.end(lines.join(''));
  await done;
  stopQueryTimer(stream);
  // Of a temporary table that was not analyzed the planner assumes that it is small.
  if (rows.length > MANY) await client.query(`ANALYZE ${table}`);
}
