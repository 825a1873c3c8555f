import { canonicalJson } from '../../platform/json/canonical-json.js';
import { ENTRY_COLUMNS, type EntryRow } from '../entries/entry-row.js';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';

/** An audit entry as contained in its leaf. `at` is in RFC 3339 format in UTC with microseconds, as in PostgreSQL. */
export interface LoggedEntry {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly outcome: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly target: { readonly kind: string; readonly id: string };
  readonly correlation: string;
  readonly source: string;
  readonly detail: Record<string, unknown>;
}

/** Returns the leaf data of an entry: canonical JSON (RFC 8785), with the SHA-256 of the record in place of the record. */
export function logLeafOf(row: EntryRow): string {
  return canonicalJson(loggedEntry(row));
}

/** Returns an entry as contained in its leaf. */
export function loggedEntry(row: EntryRow): LoggedEntry & { record?: string | undefined } {
  return {
    id: row.id,
    at: row.at,
    action: row.action,
    outcome: row.outcome,
    actor: { kind: row.actorKind, id: row.actorId, name: row.actorName },
    target: { kind: row.targetKind, id: row.targetId },
    correlation: row.correlation,
    source: row.source,
    detail: row.detail,
    record: row.record === null ? undefined : hash('sha256', row.record),
  };
}

/** Returns the data of a leaf of this kind; undefined if its entry was removed or has no record. */
export function leafData(kind: LeafKind, entryId: string, row: EntryRow | undefined): string | undefined {
  if (kind === 'missing') return canonicalJson({ id: entryId, missing: true });
  if (row === undefined) return undefined;
  if (kind === 'foreign') return canonicalJson({ foreign: true, entry: loggedEntry(row) });
  return kind === 'entry' ? logLeafOf(row) : (row.record ?? undefined);
}

/** A leaf with its entry. `kind` and `entryId` are null if the leaf was removed; the columns of the entry are null if the entry was removed. */
export type LeafRow = EntryRow & {
  readonly index: string;
  readonly kind: LeafKind | null;
  readonly entryId: string | null;
};

/** Reads leaves of the log in order. */
@Injectable()
export class LeafRowsReader {
  constructor(private readonly db: DataSource) {}

  /** Returns the number of leaves in the database, regardless of the checkpoint. */
  async size(): Promise<number> {
    const [row]: { size: string }[] = await this.db.query('SELECT size FROM log_head');
    return Number(row?.size ?? 0);
  }

  /** Returns one row per index in [from, to), even if the leaf or its entry was removed. */
  rows(from: number, to: number): Promise<LeafRow[]> {
    return readLeaves(this.db, from, to);
  }
}

/** readLeaves returns one row per index in [from, to), even if the leaf or its entry was removed. */
export function readLeaves(db: Pick<EntityManager, 'query'>, from: number, to: number): Promise<LeafRow[]> {
  return db.query(
    `SELECT n AS index, l.kind, l.entry_id AS "entryId", ${ENTRY_COLUMNS}
     FROM generate_series($1::bigint, $2::bigint - 1) n LEFT JOIN log_leaf l ON l.index = n
     LEFT JOIN audit_entry e ON e.id = l.entry_id ORDER BY n`,
    [from, to],
  );
}
