import type { EntityManager } from 'typeorm';
import { advisoryLock } from '../../platform/database/advisory-lock.js';
import { MISSED_UNTIL_RESOLVED } from '../model/asset-kind.js';
import { instant } from '../model/validity.js';
import type { CheckedDocument } from '../model/document.js';
import type { IngestOrder } from './ingest-order.js';
import type { IngestOutcome, Remark } from '../model/ingest-outcome.js';
import type { KnownSource } from './source-owner.js';

/** A document and where it comes from. */
export interface Arrival {
  readonly order: IngestOrder;
  readonly document: CheckedDocument;
  readonly source: { readonly id: string; readonly name: string };
  readonly digest: Buffer;
  readonly documentId: string;
  /** Of the documents of its body, from 0. */
  readonly part: number;
  /** About how it came. */
  readonly notes: readonly Remark[];
}

/** One document of a source at a time: what is missing is told by the newest. */
export async function holdSource(tx: EntityManager, { source }: Arrival): Promise<void> {
  await advisoryLock(tx, source.id);
}

/**
 * The same bytes of the same source. When they are its newest document there is nothing to do but to note the time; bytes that come
 * back after others are news, unless they tell their own time.
 */
export async function earlierDocument(tx: EntityManager, { source, digest }: Arrival) {
  const [row] = (await tx.query(
    `SELECT d.id, d.outcome, s.document_id = d.id AS newest FROM inventory_document d JOIN inventory_source s ON s.id = d.source_id
     WHERE d.source_id = $1 AND d.digest = $2`,
    [source.id, digest],
  )) as { id: string; outcome: IngestOutcome; newest: boolean | null }[];
  if (row === undefined) return undefined;
  if (row.newest === true) await tx.query('UPDATE inventory_source SET last_seen = now() WHERE id = $1', [source.id]);
  return { id: row.id, outcome: row.outcome, isNewest: row.newest === true };
}

/** How far the clocks of others may be ahead. */
export const MAX_CLOCK_SKEW_MINUTES = 5;

export async function isSuperseded(tx: EntityManager, { document, source }: Arrival): Promise<boolean> {
  const time = instant(document.time);
  if (time === null || !document.whole) return false;
  // The version before also kept times of the future, which count for nothing.
  const rows = (await tx.query(
    `SELECT 1 FROM inventory_source WHERE id = $1 AND document_time > $2 AND document_time <= now() + interval '${MAX_CLOCK_SKEW_MINUTES} minutes'`,
    [source.id, time],
  )) as unknown[];
  return rows.length > 0;
}

/** @returns whether it was known before. */
export async function recordSource(
  tx: EntityManager,
  { source, document, documentId }: Arrival,
  { owner, toolContexts }: KnownSource,
): Promise<boolean> {
  const contexts = [...new Set([...toolContexts, ...(document.replaces?.contexts ?? [])])];
  const [row] = (await tx.query(
    `INSERT INTO inventory_source (id, name, document_id, document_time, owner, tool_contexts) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (id) DO UPDATE SET last_seen = now(), owner = excluded.owner, tool_contexts = excluded.tool_contexts,
       document_id = coalesce(excluded.document_id, inventory_source.document_id),
       document_time = coalesce(excluded.document_time, inventory_source.document_time)
     RETURNING xmax <> 0 AS known`,
    [
      source.id,
      source.name,
      document.whole ? documentId : null,
      document.whole ? instant(document.time) : null,
      owner,
      contexts.length === 0 ? null : contexts,
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

/** What the source has said by now; a part of a scan leaves open what a whole document would say. */
export async function recordMerge(tx: EntityManager, { source, document }: Arrival, since: string): Promise<void> {
  const said = document.whole ? (document.said ?? null) : null;
  await tx.query('UPDATE inventory_source SET said = $2, merged_at = now(), merged_since = $3 WHERE id = $1', [
    source.id,
    said,
    since,
  ]);
}

/** The start of the oldest transaction that is under way: rows bear the start of the transaction that changed them. */
export async function oldestStart(tx: EntityManager): Promise<string> {
  const [row] = (await tx.query(
    `SELECT coalesce(min(xact_start), now())::text AS since FROM pg_stat_activity WHERE datname = current_database()`,
  )) as { since: string }[];
  return row?.since ?? '-infinity';
}

/**
 * What came of the newest document of the source, when it said the same, nobody else has changed its assets since, and none is missing
 * that each further document brings nearer to being resolved.
 */
export async function saidBefore(tx: EntityManager, { source, document }: Arrival): Promise<IngestOutcome | undefined> {
  const [row] = (await tx.query(
    `SELECT d.outcome FROM inventory_source s JOIN inventory_document d ON d.id = s.document_id
     WHERE s.id = $1 AND s.said = $2 AND ($3::text IS NULL OR EXISTS (SELECT FROM bom_link_refs r WHERE r.said = $2)) AND NOT EXISTS (
       SELECT FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE o.source_id = $1
         AND (o.missed BETWEEN 1 AND ${MISSED_UNTIL_RESOLVED - 1} OR a.changed_at >= s.merged_since AND a.changed_at <> s.merged_at))`,
    [source.id, document.said, document.serialNumber],
  )) as { outcome: IngestOutcome }[];
  return row?.outcome;
}
