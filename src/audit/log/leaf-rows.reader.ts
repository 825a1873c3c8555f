import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { LeafKind } from '../../verifier/log-verifier.js';
import { ENTRY_COLUMNS, type EntryRow } from './log-leaf.js';

/** A leaf with its entry. `kind` and `entryId` are null when the leaf was removed; the columns of the entry are null when that was. */
export type LeafRow = EntryRow & {
  readonly index: string;
  readonly kind: LeafKind | null;
  readonly entryId: string | null;
};

/** Reads leaves of the log in their order. */
@Injectable()
export class LeafRowsReader {
  constructor(private readonly db: DataSource) {}

  /** Number of leaves in the database, whatever the checkpoint says. */
  async size(): Promise<number> {
    const [row]: { size: string }[] = await this.db.query('SELECT size FROM log_head');
    return Number(row?.size ?? 0);
  }

  /** One row per index from `from` to before `to`, also if the leaf or its entry was removed. */
  rows(from: number, to: number): Promise<LeafRow[]> {
    return this.db.query(
      `SELECT n AS index, l.kind, l.entry_id AS "entryId", ${ENTRY_COLUMNS}
       FROM generate_series($1::bigint, $2::bigint - 1) n LEFT JOIN log_leaf l ON l.index = n
       LEFT JOIN audit_entry e ON e.id = l.entry_id ORDER BY n`,
      [from, to],
    );
  }
}
