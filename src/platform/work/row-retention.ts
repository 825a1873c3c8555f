import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { firstIdAt } from '../database/new-id.js';
import { Background } from './background.js';

const HOUR_MS = 3_600_000;
/** Delay after the start of a process, so that deletion does not slow down startup. */
const FIRST_MS = 3000;
const KEPT_DAYS = 90;
/** Maximum number of rows per statement, so that deleting years of rows does not exceed the statement timeout. */
const BATCH = 10_000;

/** RetentionRule selects rows of a table that are no longer needed. */
export interface RetentionRule {
  readonly table: string;
  /** SQL condition on `t` for rows that are final and no longer change. */
  readonly where: string;
  /** Column with the time from which a row is final; `id` for a UUIDv7 that was generated with the row. */
  readonly since: string;
  readonly days?: number;
  /** Primary key columns. Defaults to `id`. */
  readonly key?: readonly string[];
}

/**
 * RowRetention deletes rows that have been final for a long time; the audit log keeps the records that may be needed years later. One process deletes rows once
 * per hour.
 */
@Injectable()
export class RowRetention {
  private readonly rules: RetentionRule[] = [];

  constructor(private readonly db: DataSource) {}

  forget(...rules: readonly RetentionRule[]): void {
    this.rules.push(...rules);
  }

  /** Applies all rules. A table that fails does not block the other tables, but the job fails afterwards. */
  @Background({ name: 'old-rows', scope: 'cluster', every: HOUR_MS, first: FIRST_MS, drain: false })
  async deleteAll(): Promise<void> {
    const failed: string[] = [];
    for (const rule of this.rules)
      await this.deleteBy(rule).catch((error: unknown) => failed.push(`${rule.table}: ${String(error)}`));
    if (failed.length > 0) throw new Error(failed.join('; '));
  }

  private async deleteBy({ table, where, since, days = KEPT_DAYS, key = ['id'] }: RetentionRule): Promise<void> {
    const age = since === 'id' ? `t.id < '${idsBefore(days)}'` : `t.${since} < now() - interval '${days} days'`;
    const isOld = `(${where}) AND ${age}`;
    const columns = key.map((column) => `t.${column}`).join(', ');
    // The condition is repeated, so that a row that changed after the subquery is kept.
    const batch = `DELETE FROM ${table} t WHERE (${columns}) IN (SELECT ${columns} FROM ${table} t WHERE ${isOld} LIMIT ${BATCH}) AND ${isOld}`;
    for (let deleted = BATCH; deleted === BATCH;) [, deleted] = (await this.db.query(batch)) as [unknown, number];
  }
}

function idsBefore(days: number): string {
  return firstIdAt(Date.now() - days * 24 * 3_600_000);
}
