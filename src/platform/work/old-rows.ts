import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { firstIdAt } from '../database/new-id.js';
import { Background } from './background.js';

const HOUR_MS = 3_600_000;
/** The first moments of a process are for its start. */
const FIRST_MS = 3000;
const KEPT_DAYS = 90;
/** Rows of one statement: years of rows would take longer than a statement may. */
const BATCH = 10_000;

/** Which rows are of no use any more. */
export interface OldRowsRule {
  readonly table: string;
  /** SQL, about `t`: over, so that nobody changes it any more. */
  readonly where: string;
  /** The column that says since when; `id` where it is a UUIDv7, made when the row was. */
  readonly since: string;
  readonly days?: number;
  /** Columns of the primary key; `id` by default. */
  readonly key?: readonly string[];
}

/** Deletes what has been over for long: what people ask for years later stands in the audit log. One process does it, once an hour. */
@Injectable()
export class OldRows {
  private readonly rules: OldRowsRule[] = [];

  constructor(private readonly db: DataSource) {}

  forget(...rules: readonly OldRowsRule[]): void {
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

  private async deleteBy({ table, where, since, days = KEPT_DAYS, key = ['id'] }: OldRowsRule): Promise<void> {
    const age = since === 'id' ? `t.id < '${idsBefore(days)}'` : `t.${since} < now() - interval '${days} days'`;
    const isOld = `(${where}) AND ${age}`;
    const columns = key.map((column) => `t.${column}`).join(', ');
    // The condition is repeated: a row that was changed since the inner look stays.
    const batch = `DELETE FROM ${table} t WHERE (${columns}) IN (SELECT ${columns} FROM ${table} t WHERE ${isOld} LIMIT ${BATCH}) AND ${isOld}`;
    for (let deleted = BATCH; deleted === BATCH;) [, deleted] = (await this.db.query(batch)) as [unknown, number];
  }
}

function idsBefore(days: number): string {
  return firstIdAt(Date.now() - days * 24 * 3_600_000);
}
