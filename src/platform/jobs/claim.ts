import type { DataSource, EntityManager } from 'typeorm';
import { randomUUID } from 'node:crypto';

/** Rows that wait for work, in SQL. The table that is claimed is called `t`. */
export interface DueRows {
  readonly table: string;
  /** Joins that condition and columns need: `JOIN schedule s ON s.id = t.schedule_id`. */
  readonly join?: string;
  /** Columns that are selected; `t.id` by default. */
  readonly columns?: string;
  readonly where: string;
  readonly order: string;
  /** Rows of one claim, at most. */
  readonly limit: number;
  /** Tables whose rows are locked; `t` by default. */
  readonly locks?: string;
}

/** Rows that wait for work, and what a claim writes into them. `due` holds the selected columns, `t.id` among them. */
export interface Claim extends DueRows {
  readonly set: string;
  readonly returning: string;
}

type Queries = Pick<EntityManager, 'query'>;

/**
 * Selects due rows and locks them until the end of the transaction. Rows that another transaction has locked are passed over, so that
 * any number of processes share a table without waiting for each other, and no row is claimed twice at once.
 */
export function dueRows({ table, join, columns = 't.id', where, order, limit, locks = 't' }: DueRows): string {
  return `SELECT ${columns} FROM ${fromOf({ table, join })} WHERE ${where} ORDER BY ${order} LIMIT ${Math.trunc(limit)} FOR UPDATE OF ${locks} SKIP LOCKED`;
}

/** fromOf returns the FROM clause of a table, aliased `t`, with its joins. */
export function fromOf({ table, join }: Pick<DueRows, 'table' | 'join'>): string {
  return join === undefined ? `${table} t` : `${table} t ${join}`;
}

/**
 * Does `work` in a transaction when rows are due, else answers undefined: most looks of a process find nothing, and one statement costs a
 * third of a transaction. The order holds PostgreSQL to the index that the claim reads. `work` must expect to find no rows, since another process may have taken them meanwhile.
 *
 * @param parameters of `where` alone
 */
export async function whenDue<T>(
  db: DataSource,
  { where, order, ...from }: Pick<DueRows, 'table' | 'join' | 'where' | 'order'>,
  work: (tx: EntityManager) => Promise<T>,
  parameters: unknown[] = [],
): Promise<T | undefined> {
  const rows = await db.query<unknown[]>(
    `SELECT 1 FROM ${fromOf(from)} WHERE ${where} ORDER BY ${order} LIMIT 1`,
    parameters,
  );
  return rows.length === 0 ? undefined : db.transaction(work);
}

/** Locks due rows in the transaction that does their work, or that changes them by a statement of its own. */
export function lockDue<Row>(tx: EntityManager, due: DueRows, parameters: unknown[] = []): Promise<Row[]> {
  return tx.query(dueRows(due), parameters);
}

/**
 * Claims due rows by one statement: what it sets (a lease, the next attempt number) keeps others away when the lock is gone.
 * The rows are selected once, before the update, whatever plan PostgreSQL chooses: a limit is never exceeded.
 */
export async function claimDue<Row>(db: Queries, claim: Claim, parameters: unknown[] = []): Promise<Row[]> {
  const [rows]: [Row[], number] = await db.query(claimStatement(claim), parameters);
  return rows;
}

export function claimStatement(claim: Claim): string {
  return `WITH due AS MATERIALIZED (${dueRows(claim)})
    UPDATE ${claim.table} t SET ${claim.set} FROM due WHERE t.id = due.id RETURNING ${claim.returning}`;
}

/** Names this process in the rows that it has claimed. New at every start: a process that died does not come back under its name. */
export const WORKER_ID = randomUUID();

/** Answers the pause after so many attempts (1 or more): `first`, doubled by each further attempt, at most `longest`; in their unit. */
export function backOff(attempts: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** (attempts - 1));
}

/** Between half of a pause and all of it, at random: so that processes that failed together do not come again together. */
export function jittered(pause: number): number {
  return pause * (0.5 + Math.random() / 2);
}

/** Does `work` and renews its lease every `everyMs` until it has ended. A renewal that fails is made up for by the next one. */
export async function underLease<Result>(
  everyMs: number,
  renew: () => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const timer = setInterval(() => void renew().catch(() => undefined), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
