import type { DataSource, EntityManager } from 'typeorm';
import { backOff, type Claim, claimDue, underLease } from '../jobs/claim.js';

/** QueueTable describes how a table is worked through: names of its columns, in SQL over the table `t`, and times in seconds. */
export interface QueueTable {
  readonly table: string;
  /** Column that counts the claims of a row. A claim may write only while the count is its own. */
  readonly attempt: string;
  /** Column with the time of the next claim: now, the end of the lease, or the end of the pause after a failure. */
  readonly dueAt: string;
  /** Condition of rows whose work has not ended. */
  readonly open: string;
  /** Order of claims; by due time if it is absent. */
  readonly order?: string;
  /** Columns of a claimed row, besides `id` and `attempt`. */
  readonly columns: string;
  /** Assignments of each claim, besides those of attempt and due time. */
  readonly begin?: string;
  readonly leaseSeconds: number;
  readonly firstPauseSeconds: number;
  readonly longestPauseSeconds: number;
}

/** A claimed row; `attempt` is its fence. */
export interface ClaimedRow {
  readonly id: string;
  readonly attempt: number;
}

const RENEWALS_PER_LEASE = 3;

/** dueRowsOf returns the rows that a claim would take, for the option `due` of a background job. */
export function dueRowsOf({ table, open, dueAt, order = dueAt }: QueueTable): Pick<Claim, 'table' | 'where' | 'order'> {
  return { table, where: `${open} AND ${dueAt} <= now()`, order };
}

/**
 * WorkQueue claims, renews, retries and changes the rows of a table. A claim leases the row and increments its attempt; when the process
 * dies, the lease expires and another process claims the row. Whatever a claim writes names its attempt, so a process that lost its lease
 * writes nothing. All times are the database's.
 */
export class WorkQueue<Row extends ClaimedRow> {
  constructor(
    private readonly db: DataSource,
    private readonly queue: QueueTable,
  ) {}

  /**
   * Claims at most `limit` due rows.
   *
   * @param also further condition, with its own parameters from $1 on
   */
  claim(limit: number, also = 'true', parameters: unknown[] = []): Promise<Row[]> {
    const { attempt, begin, columns } = this.queue;
    const { where, ...due } = dueRowsOf(this.queue);
    const claim = {
      ...due,
      where: `${where} AND ${also}`,
      limit,
      set: [`${attempt} = t.${attempt} + 1`, this.lease, ...(begin === undefined ? [] : [begin])].join(', '),
      returning: `t.id, t.${attempt} AS attempt, ${columns}`,
    };
    return claimDue<Row>(this.db, claim, parameters);
  }

  /** Does the work of a claimed row and renews its lease until it has ended; `renew` replaces the plain renewal. */
  hold<Result>(
    row: ClaimedRow,
    work: () => Promise<Result>,
    renew: () => Promise<unknown> = () => this.renew(row),
  ): Promise<Result> {
    return underLease((this.queue.leaseSeconds * 1000) / RENEWALS_PER_LEASE, renew, work);
  }

  /** Renews the lease, with further assignments (parameters from $3 on). @returns false when the row is no longer this claim's */
  renew(row: ClaimedRow, set?: string, ...values: unknown[]): Promise<boolean> {
    return this.write(row, set === undefined ? this.lease : `${this.lease}, ${set}`, values);
  }

  /** Makes the row due again after the back-off of its attempt, with further assignments (parameters from $3 on). */
  retry(row: ClaimedRow, set?: string, ...values: unknown[]): Promise<boolean> {
    const { firstPauseSeconds, longestPauseSeconds } = this.queue;
    return this.postpone(row, backOff(row.attempt, firstPauseSeconds, longestPauseSeconds), set, ...values);
  }

  /** Makes the row due again after this time, 0 for at once, with further assignments (parameters from $3 on). */
  postpone(row: ClaimedRow, seconds: number, set?: string, ...values: unknown[]): Promise<boolean> {
    const due = `${this.queue.dueAt} = now() + make_interval(secs => $${values.length + 3})`;
    return this.write(row, set === undefined ? due : `${due}, ${set}`, [...values, seconds]);
  }

  /** Changes an open row of this claim; parameters of `set` begin with $3. @returns false when the row is no longer this claim's */
  async write(
    { id, attempt }: ClaimedRow,
    set: string,
    values: readonly unknown[] = [],
    tx: Pick<EntityManager, 'query'> = this.db,
  ): Promise<boolean> {
    const { table, attempt: column, open } = this.queue;
    const [, changed]: [unknown, number] = await tx.query(
      `UPDATE ${table} t SET ${set} WHERE t.id = $1 AND t.${column} = $2 AND ${open}`,
      [id, attempt, ...values],
    );
    return changed > 0;
  }

  /** Assignment that renews the lease, for a `write` of other columns. */
  get lease(): string {
    return `${this.queue.dueAt} = now() + interval '${this.queue.leaseSeconds} seconds'`;
  }
}
