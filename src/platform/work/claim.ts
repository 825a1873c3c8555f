import type { DataSource, EntityManager } from 'typeorm';
import { randomUUID } from 'node:crypto';

/** DueRows selects rows that wait to be processed, in SQL. The table has the alias `t`. */
export interface DueRows {
  readonly table: string;
  /** Joins required by conditions and columns, such as `JOIN schedule s ON s.id = t.schedule_id`. */
  readonly join?: string;
  /** Selected columns. Defaults to `t.id`. */
  readonly columns?: string;
  readonly where: string;
  readonly order: string;
  /** Maximum number of rows. */
  readonly limit: number;
  /** Tables whose rows are locked. Defaults to `t`. */
  readonly locks?: string;
}

/** ClaimedChange is the update of claimed rows, which have the alias `t`. `due` holds the selected columns, including the key. */
interface ClaimedChange {
  readonly table: string;
  /** Primary key. Defaults to `id`. */
  readonly key?: string;
  readonly set: string;
  readonly returning: string;
}

/** Claim selects due rows and updates them. */
export type Claim = DueRows & ClaimedChange;

/** Queries runs statements: a connection or a transaction. */
export type Queries = Pick<EntityManager, 'query'>;

/**
 * dueRows returns a statement that selects due rows and locks them until the end of the transaction. Rows locked by other transactions are skipped, so that
 * any number of processes can share a table without waiting, and no row is claimed twice concurrently.
 */
export function dueRows({ table, join, columns = 't.id', where, order, limit, locks = 't' }: DueRows): string {
  return `SELECT ${columns} FROM ${fromOf({ table, join })} WHERE ${where} ORDER BY ${order} LIMIT ${Math.trunc(limit)} FOR UPDATE OF ${locks} SKIP LOCKED`;
}

/** fromOf returns the FROM clause of a table, aliased `t`, with its joins. */
export function fromOf({ table, join }: Pick<DueRows, 'table' | 'join'>): string {
  return join === undefined ? `${table} t` : `${table} t ${join}`;
}

/**
 * whenDue runs `work` in a transaction if rows are due, and otherwise returns undefined. Most polls find no rows, and one statement takes a third of the
 * time of a transaction. The order makes PostgreSQL use the same index as the claim. `work` must handle the case in which another process has claimed the rows.
 *
 * @param parameters parameters of `where`
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

/** lockDue locks due rows in the transaction that processes or updates them. */
export function lockDue<Row>(tx: EntityManager, due: DueRows, parameters: unknown[] = []): Promise<Row[]> {
  return tx.query(dueRows(due), parameters);
}

/**
 * claimDue claims due rows in one statement. The assigned values (a lease, the next attempt number) keep other processes from claiming the rows after the
 * lock is released. The rows are selected once before the update, regardless of the query plan, so the limit is never exceeded.
 */
export async function claimDue<Row>(db: Queries, claim: Claim, parameters: unknown[] = []): Promise<Row[]> {
  return claimFrom<Row>(db, dueRows(claim), claim, parameters);
}

/** claimFrom is like `claimDue`, for a statement `due` that selects and locks the rows. */
export async function claimFrom<Row>(
  db: Queries,
  due: string,
  { table, key = 'id', set, returning }: ClaimedChange,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const [rows]: [Row[], number] = await db.query(
    `WITH due AS MATERIALIZED (${due}) UPDATE ${table} t SET ${set} FROM due WHERE t.${key} = due.${key} RETURNING ${returning}`,
    parameters,
  );
  return rows;
}

/**
 * WORKER_ID identifies this process in rows that it has claimed. The ID is generated at every start, so a restarted process never has the ID of a process
 * that died.
 */
export const WORKER_ID = randomUUID();

/** backOff returns the pause after the given number of attempts (at least 1): `first`, doubled for each further attempt, up to `longest`, in the same unit. */
export function backOff(attempts: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** (attempts - 1));
}

/** jittered returns a random time between half of the pause and the pause, so that processes that failed together do not retry together. */
export function jittered(pause: number): number {
  return pause * (0.5 + Math.random() / 2);
}

/** underLease runs `work` and renews the lease every `everyMs` until `work` ends. A failed renewal is ignored, because the next renewal follows. */
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
