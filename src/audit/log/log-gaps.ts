import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { SingleFlight } from '../../platform/jobs/runners.js';

const EVERY_MS = 5000;
/** Entries of one look: some ten milliseconds of the database. */
const MAX_LOOKED_AT = 5000;
const MAX_NAMED = 10;

/**
 * True for an entry of audit_entry e that no transaction of the service left so: it is no leaf of the tree, and does not wait to become
 * one. Every entry commits with its row in log_waiting, and loses that only to its leaf.
 */
export const IS_UNLOGGED = `NOT EXISTS (SELECT FROM log_waiting w WHERE w.entry_id = e.id)
  AND NOT EXISTS (SELECT FROM log_leaf l WHERE l.entry_id = e.id AND l.index >= 0 AND l.index < (SELECT size FROM log_head))`;

interface Look {
  /** Where the next look goes on; null when this one was at the oldest entry. */
  readonly last: string | null;
  readonly count: number;
  readonly unlogged: string[] | null;
}

/** Walks all entries, newest first and round after round, for those that are not in the log and do not wait for it. */
@Injectable()
export class LogGaps {
  private readonly logger = new Logger('AuditLog');
  private before: string | null = null;
  private ofRound = new Set<string>();
  private found: readonly string[] = [];
  private readonly looks = new SingleFlight((error) =>
    this.logger.warn(`entries were not looked at: ${String(error)}`),
  );

  constructor(private readonly db: DataSource) {}

  /** Ids of some that were found in this round or the last. */
  get unlogged(): readonly string[] {
    return this.found;
  }

  @Interval(EVERY_MS)
  look(): Promise<void> {
    return this.looks.run(() => this.step());
  }

  private async step(): Promise<void> {
    const [look]: Look[] = await this.db.query(
      `WITH part AS MATERIALIZED (
         SELECT id FROM audit_entry WHERE $1::uuid IS NULL OR id < $1 ORDER BY id DESC LIMIT ${MAX_LOOKED_AT})
       SELECT (SELECT id FROM part ORDER BY id LIMIT 1) AS last, (SELECT count(*)::int FROM part) AS count,
         (SELECT array_agg(id::text) FROM (SELECT id FROM part e WHERE ${IS_UNLOGGED} LIMIT ${MAX_NAMED}) named) AS unlogged`,
      [this.before],
    );
    for (const id of look?.unlogged ?? []) this.note(id);
    const isOver = look === undefined || look.count < MAX_LOOKED_AT;
    this.before = isOver ? null : look.last;
    if (!isOver) return;
    this.found = [...this.ofRound];
    this.ofRound = new Set();
  }

  private note(id: string): void {
    if (this.ofRound.size < MAX_NAMED) this.ofRound.add(id);
    if (this.found.includes(id)) return;
    this.logger.error(`the entry ${id} is not in the audit log and does not wait for it: nobody but SQL wrote it`);
    this.found = [...this.found, id].slice(0, MAX_NAMED);
  }
}
