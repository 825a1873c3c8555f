import type { EntityManager } from 'typeorm';
import type { SealedFields } from './audit-seals.js';

/** EntryRow is a row of audit_entry, read with `ENTRY_COLUMNS`. */
export interface EntryRow extends SealedFields {
  readonly at: string;
  /** See audit-seals.ts. */
  readonly seal: Buffer | null;
}

/** Columns of a statement that reads rows of audit_entry `e`. */
export const ENTRY_COLUMNS = `e.id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, e.action, e.outcome,
  e.actor_kind AS "actorKind", e.actor_id AS "actorId", e.actor_name AS "actorName", e.target_kind AS "targetKind",
  e.target_id AS "targetId", e.correlation, e.source, e.detail, e.record, e.seal`;

/**
 * entriesAbout returns the entries of these actions about these targets, oldest first. The result may include entries that were inserted with SQL.
 *
 * @param detail members that the detail of an entry must have, to avoid reading every entry of a target with thousands of entries
 */
export function entriesAbout(
  tx: EntityManager,
  targetIds: readonly string[],
  actions: readonly string[],
  detail: Readonly<Record<string, string>> = {},
): Promise<EntryRow[]> {
  // Finds the entries of each target by index and compares the actions afterwards. With outdated statistics for a fast-growing log, PostgreSQL would otherwise
  // read all entries, or all entries with one of the actions.
  return tx.query(
    `SELECT ${ENTRY_COLUMNS} FROM unnest($1::text[]) AS target(id)
       CROSS JOIN LATERAL (SELECT * FROM audit_entry WHERE target_id = target.id OFFSET 0) e
     WHERE e.action = ANY($2) AND e.detail @> $3 ORDER BY e.id`,
    [targetIds, actions, detail],
  );
}
