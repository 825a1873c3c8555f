import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Background } from '../../platform/work/background.js';

const EVERY_MS = 10_000;
/** Number of entries per run. A run takes about 20 ms of database time. */
const BATCH_SIZE = 10_000;
const MAX_NAMED = 10;

/**
 * SQL condition on audit_entry e: the entry is neither in the log nor waiting for the log. No transaction of the service leaves this state: every entry
 * commits with its row in log_waiting, and the sequencer deletes the row together with appending the leaf. OFFSET 0 makes PostgreSQL look up each entry by
 * index. With outdated statistics of a growing log, PostgreSQL would otherwise scan all leaves for each entry.
 */
export const IS_UNLOGGED = `NOT EXISTS (SELECT FROM log_waiting w WHERE w.entry_id = e.id OFFSET 0)
  AND NOT EXISTS (SELECT FROM (SELECT index FROM log_leaf WHERE entry_id = e.id OFFSET 0) l
    WHERE l.index >= 0 AND l.index < (SELECT size FROM log_head))`;

interface Step {
  /** Position at which the next run continues; null after the oldest entry. */
  readonly last: string | null;
  readonly count: number;
  readonly unlogged: string[] | null;
}

/** Searches all entries repeatedly, newest first, for entries that are neither in the log nor waiting for the log. */
@Injectable()
export class LogGaps {
  private readonly logger = new Logger('AuditLog');
  private before: string | null = null;
  private ofPass = new Set<string>();
  private found: readonly string[] = [];

  constructor(private readonly db: DataSource) {}

  /** IDs of some entries that were found in this pass or the previous pass. */
  get unlogged(): readonly string[] {
    return this.found;
  }

  @Background({ name: 'audit-log-gaps', scope: 'process', every: EVERY_MS })
  async step(): Promise<void> {
    const [step]: Step[] = await this.db.query(
      `WITH part AS MATERIALIZED (
         SELECT id FROM audit_entry WHERE $1::uuid IS NULL OR id < $1 ORDER BY id DESC LIMIT ${BATCH_SIZE})
       SELECT (SELECT id FROM part ORDER BY id LIMIT 1) AS last, (SELECT count(*)::int FROM part) AS count,
         (SELECT array_agg(id::text) FROM (SELECT id FROM part e WHERE ${IS_UNLOGGED} LIMIT ${MAX_NAMED}) named) AS unlogged`,
      [this.before],
    );
    for (const id of step?.unlogged ?? []) this.note(id);
    const isOver = step === undefined || step.count < BATCH_SIZE;
    this.before = isOver ? null : step.last;
    if (!isOver) return;
    this.found = [...this.ofPass];
    this.ofPass = new Set();
  }

  private note(id: string): void {
    if (this.ofPass.size < MAX_NAMED) this.ofPass.add(id);
    if (this.found.includes(id)) return;
    this.logger.error(
      `entry ${id} is neither in the audit log nor queued for it, so it was inserted outside the service`,
    );
    this.found = [...this.found, id].slice(0, MAX_NAMED);
  }
}
