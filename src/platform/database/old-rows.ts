import { Injectable, Logger } from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { DataSource } from 'typeorm';

/** The first moments of a process are for its start. */
const FIRST_LOOK_MS = 3000;
const LOOK_EVERY_MS = 3_600_000;
const KEPT_DAYS = 90;
/** Rows of one statement: years of rows would take longer than a statement may. */
const BATCH = 10_000;

/** Which rows are of no use any more. */
export interface OldRowsRule {
  readonly table: string;
  /** SQL, about `t`: over, so that nobody changes it any more. */
  readonly where: string;
  /** The column that says since when. */
  readonly since: string;
  readonly days?: number;
}

/** Deletes what has been over for long: what people ask for years later stands in the audit log. */
@Injectable()
export class OldRows {
  private readonly logger = new Logger(OldRows.name);
  private readonly rules: OldRowsRule[] = [];

  constructor(private readonly db: DataSource) {}

  forget(...rules: readonly OldRowsRule[]): void {
    this.rules.push(...rules);
  }

  @Timeout(FIRST_LOOK_MS)
  @Interval(LOOK_EVERY_MS)
  async look(): Promise<void> {
    for (const rule of this.rules)
      await this.deleteBy(rule).catch((error: unknown) =>
        this.logger.warn(`old rows of ${rule.table} stay a while longer: ${String(error)}`),
      );
  }

  private async deleteBy({ table, where, since, days = KEPT_DAYS }: OldRowsRule): Promise<void> {
    const old = `SELECT t.ctid FROM ${table} t WHERE (${where}) AND t.${since} < now() - interval '${days} days' LIMIT ${BATCH}`;
    for (let deleted = BATCH; deleted === BATCH;)
      [, deleted] = (await this.db.query(`DELETE FROM ${table} WHERE ctid = ANY(ARRAY(${old}))`)) as [unknown, number];
  }
}
