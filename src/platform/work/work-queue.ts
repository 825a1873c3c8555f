import type { DataSource } from 'typeorm';
import { backOff, type Claim, claimFrom, dueRows, type Queries, underLease } from './claim.js';

/** QueueTable describes a table that serves as a queue: its columns, SQL fragments over the alias `t`, and times in seconds. */
export interface QueueTable {
  readonly table: string;
  /** Primary key. Defaults to `id`. */
  readonly key?: string;
  /** Column that counts the claims of a row. A claim may write only while the count equals its attempt. */
  readonly attempt: string;
  /** Column with the time from which the row may be claimed, such as the end of the lease or of the pause after a failure. */
  readonly dueAt: string;
  /** Condition for rows with unfinished work. */
  readonly open: string;
  /** Order of claims. Defaults to the due time. */
  readonly order?: string;
  /** Columns of a claimed row in addition to `id` and `attempt`. */
  readonly columns: string;
  /** Assignments of each claim in addition to attempt and due time. */
  readonly begin?: string;
  readonly leaseSeconds: number;
  /** First and longest pause of `retry`. Both default to 0, for tables whose rows are only postponed. */
  readonly firstPauseSeconds?: number;
  readonly longestPauseSeconds?: number;
}

/** ClaimedRow identifies a claimed row. `attempt` is its fencing token. */
export interface ClaimedRow {
  readonly id: string;
  readonly attempt: number;
}

const RENEWALS_PER_LEASE = 3;

/** dueRowsOf selects the rows that a claim would take, for the `due` option of a background job. */
export function dueRowsOf({ table, open, dueAt, order = dueAt }: QueueTable): Pick<Claim, 'table' | 'where' | 'order'> {
  return { table, where: `${open} AND ${dueAt} <= now()`, order };
}

/**
 * WorkQueue claims, renews, retries and changes the rows of a table. A claim leases the row and increments its attempt. If the process dies, the lease
 * expires and another process claims the row. Every write of a claim is conditional on its attempt, so a process that lost its lease changes no row. All
 * timestamps come from the database clock.
 */
export class WorkQueue<Row extends ClaimedRow> {
  constructor(
    private readonly db: DataSource,
    private readonly queue: QueueTable,
  ) {}

  /**
   * Claims at most `limit` due rows.
   *
   * @param also additional condition, whose parameters start at $1
   */
  claim(limit: number, also = 'true', parameters: unknown[] = []): Promise<Row[]> {
    const { where, ...due } = dueRowsOf(this.queue);
    return this.claimFrom(dueRows({ ...due, where: `${where} AND ${also}`, limit }), parameters);
  }

  /**
   * Claims the rows of `due`, a statement that selects the keys of rows and locks the rows. `columns` may contain other columns of the statement as
   * `due.name`.
   */
  claimFrom(due: string, parameters: unknown[] = [], db: Queries = this.db): Promise<Row[]> {
    const { table, key = 'id', attempt, begin, columns } = this.queue;
    const change = {
      table,
      key,
      set: [`${attempt} = t.${attempt} + 1`, this.lease, ...(begin === undefined ? [] : [begin])].join(', '),
      returning: `t.${key} AS id, t.${attempt} AS attempt, ${columns}`,
    };
    return claimFrom<Row>(db, due, change, parameters);
  }

  /** Performs the work of a claimed row and renews the lease until the work has ended. `renew` replaces the default renewal. */
  hold<Result>(
    row: ClaimedRow,
    work: () => Promise<Result>,
    renew: () => Promise<unknown> = () => this.renew(row),
  ): Promise<Result> {
    return underLease((this.queue.leaseSeconds * 1000) / RENEWALS_PER_LEASE, renew, work);
  }

  /**
   * Renews the lease and applies additional assignments (parameters start at $3).
   * @returns false if the row no longer belongs to this claim
   */
  renew(row: ClaimedRow, set?: string, values?: readonly unknown[]): Promise<boolean> {
    return this.write(row, set === undefined ? this.lease : `${this.lease}, ${set}`, values);
  }

  /** Makes the row due again after the backoff of its attempt, and applies additional assignments (parameters start at $3). */
  retry(row: ClaimedRow, set?: string, values?: readonly unknown[], db?: Queries): Promise<boolean> {
    return this.postpone(row, this.pauseAfter(row), set, values, db);
  }

  /** Returns the backoff of the row's attempt in seconds. */
  pauseAfter({ attempt }: ClaimedRow): number {
    const { firstPauseSeconds = 0, longestPauseSeconds = 0 } = this.queue;
    return backOff(attempt, firstPauseSeconds, longestPauseSeconds);
  }

  /** Makes the row due again after `seconds`, where 0 means immediately, and applies additional assignments (parameters start at $3). */
  postpone(
    row: ClaimedRow,
    seconds: number,
    set?: string,
    values: readonly unknown[] = [],
    db?: Queries,
  ): Promise<boolean> {
    const due = `${this.queue.dueAt} = now() + make_interval(secs => $${values.length + 3})`;
    return this.write(row, set === undefined ? due : `${due}, ${set}`, [...values, seconds], db);
  }

  /**
   * Updates an open row of this claim. Parameters of `set` and of the additional condition `also` start at $3.
   * @returns false if the row no longer belongs to this claim
   */
  async write(
    { id, attempt }: ClaimedRow,
    set: string,
    values: readonly unknown[] = [],
    db: Queries = this.db,
    also = 'true',
  ): Promise<boolean> {
    const { table, key = 'id', attempt: column, open } = this.queue;
    const [, changed]: [unknown, number] = await db.query(
      `UPDATE ${table} t SET ${set} WHERE t.${key} = $1 AND t.${column} = $2 AND ${open} AND ${also}`,
      [id, attempt, ...values],
    );
    return changed > 0;
  }

  /** SQL assignment that renews the lease, for a `write` of other columns. */
  get lease(): string {
    return `${this.queue.dueAt} = now() + interval '${this.queue.leaseSeconds} seconds'`;
  }
}
