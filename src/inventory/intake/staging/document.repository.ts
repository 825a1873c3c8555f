import type { DataSource, EntityManager } from 'typeorm';
import { advisoryLock, confirmRead } from '../../../platform/database/statements.js';
import { uuidArray } from '../../../platform/database/copy-rows.js';
import { MISSED_UNTIL_RESOLVED } from '../../model/asset-kind.js';
import { instant } from '../../model/date-time.js';
import type { CdxComponent, IngestOutcome } from '../../model/document.js';
import { anyOf, bitOf } from '../../model/asset-relationship.entity.js';
import { READING_EDITION } from '../../judgement/risk/reading-edition.js';
import { type Arrival, MAX_CLOCK_SKEW_MINUTES } from './arrivals.js';
import type { KnownAsset } from './provisional-assets.js';
import type { KnownSource, StoredSource } from './source-owner.js';

/** SQL for the start of the current hour. */
const THIS_HOUR = `date_trunc('hour', now())`;

/**
 * lockSource locks the source until the transaction ends. Documents from the same source are stored one at a time, because the newest document determines which
 * assets are missing.
 */
export async function lockSource(tx: EntityManager, { source }: Arrival): Promise<void> {
  await advisoryLock(tx, source.id);
}

/**
 * earlierDocument returns the document with the same bytes from the same source, and whether it is the source's newest document. If so, the source is marked as
 * seen. The commit waits until the document has been replicated to a standby.
 */
export async function earlierDocument(tx: EntityManager, { source, digest }: Arrival) {
  const [row] = (await tx.query(
    `SELECT d.id, d.outcome, s.document_id = d.id AS newest FROM inventory_document d JOIN inventory_source s ON s.id = d.source_id
     WHERE d.source_id = $1 AND d.digest = $2`,
    [source.id, digest],
  )) as { id: string; outcome: IngestOutcome; newest: boolean | null }[];
  if (row === undefined) return undefined;
  await confirmRead(tx);
  if (row.newest === true) await markSeen(tx, source.id, row.id);
  return { id: row.id, outcome: row.outcome, isNewest: row.newest === true };
}

/** Newest document of a source. The document's bytes were sent again. */
interface SameDocument extends StoredSource {
  readonly id: string;
  readonly outcome: IngestOutcome;
  /** Whether the source must be marked as seen. */
  readonly isDue: boolean;
  /** Whether ingesting the document again would change nothing. */
  readonly isSettled: boolean;
  /** Whether the transaction that stored the document was confirmed more than CONFIRMED_AFTER ago. */
  readonly isConfirmed: boolean;
}

/**
 * CONFIRMED_AFTER is the time after `received_at` by which the transaction that stored a document has ended. The transaction starts at `received_at` and takes
 * less than this interval.
 */
const CONFIRMED_AFTER = `interval '1 hour'`;

/**
 * newestOfSameBytes returns the source's newest document if that document has the same bytes as the arrival.
 *
 * @param confirmedUntil time before which all commits are confirmed (see InstanceHeartbeat.confirmedUntil)
 */
export async function newestOfSameBytes(
  tx: EntityManager,
  { source, digest }: Arrival,
  confirmedUntil: Date | undefined,
): Promise<SameDocument | undefined> {
  const [row] = (await tx.query(
    `SELECT d.id, d.outcome, s.last_seen < ${THIS_HOUR} AS "isDue", ${IS_SETTLED} AS "isSettled", s.owner, s.tool_contexts AS contexts,
       d.received_at < coalesce($3::timestamptz, '-infinity') - ${CONFIRMED_AFTER} AS "isConfirmed"
     FROM inventory_source s JOIN inventory_document d ON d.id = s.document_id WHERE s.id = $1 AND d.digest = $2`,
    [source.id, digest, confirmedUntil ?? null],
  )) as SameDocument[];
  return row;
}

/**
 * markSeen marks a source as seen at its first report in each hour, if the document is still the source's newest document. All sources are therefore marked
 * within the same few minutes. This saves WAL: PostgreSQL writes a full page image at the first change to a page after a checkpoint, which then happens once
 * for all rows on the page.
 */
export async function markSeen(tx: EntityManager, sourceId: string, documentId: string): Promise<void> {
  await tx.query(
    `UPDATE inventory_source SET last_seen = now() WHERE id = $1 AND document_id = $2 AND last_seen < ${THIS_HOUR}`,
    [sourceId, documentId],
  );
}

/** isSuperseded reports whether the source has a newer document, according to the times in the documents. */
export async function isSuperseded(tx: EntityManager, { document, source }: Arrival): Promise<boolean> {
  const time = instant(document.time);
  if (time === null || !document.whole) return false;
  // The previous version also stored times in the future, which are ignored.
  const rows = (await tx.query(
    `SELECT 1 FROM inventory_source WHERE id = $1 AND document_time > $2 AND document_time <= now() + interval '${MAX_CLOCK_SKEW_MINUTES} minutes'`,
    [source.id, time],
  )) as unknown[];
  return rows.length > 0;
}

/** Records the source. @returns whether the source was already known */
export async function recordSource(
  tx: EntityManager,
  { source, document, documentId }: Arrival,
  { owner, toolContexts }: KnownSource,
): Promise<boolean> {
  const contexts = [...new Set([...toolContexts, ...(document.replaces?.contexts ?? [])])];
  const [row] = (await tx.query(
    `WITH before AS (SELECT FROM inventory_source WHERE id = $1)
     INSERT INTO inventory_source (id, name, document_id, document_time, owner, tool_contexts, reading) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (id) DO UPDATE SET last_seen = now(), owner = excluded.owner, tool_contexts = excluded.tool_contexts,
       document_id = coalesce(excluded.document_id, inventory_source.document_id),
       document_time = coalesce(excluded.document_time, inventory_source.document_time)
     RETURNING EXISTS (SELECT FROM before) AS known`,
    [
      source.id,
      source.name,
      document.whole ? documentId : null,
      document.whole ? instant(document.time) : null,
      owner,
      contexts.length === 0 ? null : contexts,
      READING_EDITION,
    ],
  )) as { known: boolean }[];
  return row?.known ?? true;
}

export async function recordDocument(tx: EntityManager, arrival: Arrival, outcome: IngestOutcome): Promise<void> {
  const { document, source, digest, documentId, order } = arrival;
  await tx.query(
    `INSERT INTO inventory_document (id, source_id, digest, format, serial_number, version, document_time, received_from, outcome, said)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (source_id, digest) DO UPDATE SET received_at = now(), received_from = excluded.received_from, outcome = excluded.outcome,
       said = excluded.said`,
    [
      documentId,
      source.id,
      digest,
      document.format,
      document.serialNumber,
      document.version,
      instant(document.time),
      order.caller.id,
      outcome,
      document.said ?? null,
    ],
  );
}

/**
 * recordMerge records the content of a source's newest complete document, and the time since which concurrent transactions may have changed the source's
 * assets. Assets that were up to date with this reading edition before the merge remain up to date. A version that does not record editions leaves `read_merge`
 * unchanged.
 */
export async function recordMerge(tx: EntityManager, { source, document }: Arrival, since: string): Promise<void> {
  const said = document.whole ? (document.said ?? null) : null;
  await tx.query(
    `UPDATE inventory_source SET said = $2, merged_at = now(), merged_since = $3,
       read_merge = CASE WHEN reading = $4 AND read_merge IS NOT DISTINCT FROM merged_at THEN now() ELSE read_merge END
     WHERE id = $1`,
    [source.id, said, since, READING_EDITION],
  );
}

/**
 * oldestStart returns the start time of the oldest open transaction. Rows contain the start time of the transaction that changed them, so rows with a later
 * time may still become visible.
 */
export async function oldestStart(tx: EntityManager): Promise<string> {
  const [row] = (await tx.query(
    `SELECT coalesce(min(xact_start), now())::text AS since FROM pg_stat_activity WHERE datname = current_database()`,
  )) as { since: string }[];
  return row?.since ?? '-infinity';
}

/**
 * SQL over `s`, the source with the id $1: assets of the source that have changed since its last merge, or that are missing. Each further document brings
 * missing assets closer to `resolved`.
 */
const UNSETTLED = `SELECT FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE o.source_id = $1
  AND (o.missed BETWEEN 1 AND ${MISSED_UNTIL_RESOLVED - 1} OR a.changed_at >= s.merged_since AND a.changed_at <> s.merged_at)`;

/** SQL condition over `s`: a document with the same content as the source's last document would change nothing. */
const IS_SETTLED = `(s.merged_since IS NOT NULL AND NOT EXISTS (${UNSETTLED}))`;

/** isSettled reports whether a document with the same content as the source's last document would change nothing. */
export async function isSettled(tx: EntityManager, { source }: Arrival): Promise<boolean> {
  const rows = (await tx.query(`SELECT 1 FROM inventory_source s WHERE s.id = $1 AND ${IS_SETTLED}`, [
    source.id,
  ])) as unknown[];
  return rows.length > 0;
}

/**
 * outcomeOfSameContent returns the outcome of the source's newest document if the document has the same content, its assets have not changed since, and no
 * asset is missing. Each further document brings missing assets closer to `resolved`.
 */
export async function outcomeOfSameContent(
  tx: EntityManager,
  { source, document }: Arrival,
): Promise<IngestOutcome | undefined> {
  const [row] = (await tx.query(
    `SELECT d.outcome FROM inventory_source s JOIN inventory_document d ON d.id = s.document_id
     WHERE s.id = $1 AND s.said = $2 AND ($3::text IS NULL OR EXISTS (SELECT FROM bom_link_refs r WHERE r.said = $2)) AND NOT EXISTS (
       ${UNSETTLED})`,
    [source.id, document.said, document.serialNumber],
  )) as { outcome: IngestOutcome }[];
  return row?.outcome;
}

/** earlierOutcome returns the recorded outcome of a document, or undefined if the document no longer exists. */
export async function earlierOutcome(tx: EntityManager, documentId: string): Promise<IngestOutcome | undefined> {
  const [row] = (await tx.query('SELECT outcome FROM inventory_document WHERE id = $1', [documentId])) as {
    outcome: IngestOutcome;
  }[];
  return row?.outcome;
}

/** knownAssets returns the assets that the inventory contains. @param referring ids of the assets whose references are needed */
export async function knownAssets(
  tx: EntityManager,
  ids: readonly string[],
  referring: readonly string[],
): Promise<ReadonlyMap<string, KnownAsset>> {
  const rows = (await tx.query('SELECT id, component FROM asset WHERE id = ANY($1::uuid[])', [uuidArray(ids)])) as {
    id: string;
    component: CdxComponent;
  }[];
  const uses = new Map<string, readonly string[]>();
  if (rows.length > 0 && referring.length > 0)
    for (const { id, targets } of await targetsOf(tx, referring)) uses.set(id, targets);
  return new Map(rows.map(({ id, component }) => [id, { component, uses: uses.get(id) ?? [] }]));
}

async function targetsOf(tx: EntityManager, ids: readonly string[]): Promise<{ id: string; targets: string[] }[]> {
  return (await tx.query(
    `SELECT r.from_id AS id, array_agg(DISTINCT r.to_id) AS targets FROM asset_relationship r JOIN asset t ON t.id = r.to_id
     WHERE r.from_id = ANY($1::uuid[]) AND ${anyOf('r.kinds', REFERENCES)} AND t.kind IN ('algorithm', 'related-crypto-material')
     GROUP BY r.from_id`,
    [uuidArray(ids)],
  )) as { id: string; targets: string[] }[];
}

const REFERENCES = bitOf('cipherSuite') | bitOf('cryptoRef') | bitOf('dependsOn');

const VACUUMED = 'asset, asset_occurrence, asset_relationship';
/** Index cleanup would find nothing to remove, and truncating the table would take an exclusive lock. */
const VACUUM_OPTIONS = 'SKIP_LOCKED, INDEX_CLEANUP OFF, TRUNCATE OFF';
/** MAX_VACUUM_MS is the statement timeout, needed because the caller waits for the response. Pages processed before the timeout remain processed. */
const MAX_VACUUM_MS = 15_000;

/**
 * vacuumInventory marks new pages as all-visible (PostgreSQL manual, "Visibility Map"). Until then, index-only scans also read the table, and the first
 * reader sets hint bits in every row. VACUUM reads each page that has changed since the last run. Failures are ignored, because the document is already
 * committed, and autovacuum performs the same work a minute or more later.
 */
export async function vacuumInventory(db: DataSource): Promise<void> {
  const runner = db.createQueryRunner();
  try {
    await runner.query(`SET statement_timeout = ${MAX_VACUUM_MS}`);
    await runner.query(`VACUUM (${VACUUM_OPTIONS}) ${VACUUMED}`);
  } catch {
    // The failure is ignored (see above).
  } finally {
    await runner.query('RESET statement_timeout').catch(() => undefined);
    await runner.release();
  }
}
