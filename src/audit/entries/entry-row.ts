import type { SealedFields } from './audit-seals.js';

/** EntryRow is a row of audit_entry, as `ENTRY_COLUMNS` reads it. */
export interface EntryRow extends SealedFields {
  readonly at: string;
  /** See audit-seals.ts. */
  readonly seal: Buffer | null;
}

/** Columns of a statement that reads rows of audit_entry `e`. */
export const ENTRY_COLUMNS = `e.id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, e.action, e.outcome,
  e.actor_kind AS "actorKind", e.actor_id AS "actorId", e.actor_name AS "actorName", e.target_kind AS "targetKind",
  e.target_id AS "targetId", e.correlation, e.source, e.detail, e.record, e.seal`;
