import type { PoolClient } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/**
 * confirmRead makes the commit of this transaction or statement wait until a standby has everything that was read, if commits are synchronous (decision
 * 164). Only commits that wrote to the WAL wait, so confirmRead writes 60 bytes to the WAL. Use confirmRead for responses that confirm the result of an
 * earlier request.
 */
export async function confirmRead(tx: Pick<EntityManager, 'query'>): Promise<void> {
  await tx.query(`SELECT pg_logical_emit_message(true, 'sealwright', '')`);
}

/** SQL types that `columns` can pass as arrays. jsonb is passed as text and cast in the statement. */
type ColumnType = 'uuid' | 'text' | 'int' | 'bytea' | 'jsonb' | 'boolean' | 'timestamptz';

/**
 * columns converts rows to one array parameter per column, for `SELECT … FROM unnest($1::uuid[], $2::text[], …)`. The text of the statement does not depend on
 * the number of rows.
 *
 * @returns `from`: the unnest(…) expression with aliases, starting at parameter `first`; `values`: its parameters
 */
export function columns<Row extends object>(
  rows: readonly Row[],
  types: { readonly [Name in keyof Row]-?: ColumnType },
  first = 1,
): { from: string; values: unknown[] } {
  const names = Object.keys(types) as (keyof Row & string)[];
  const parts = names.map((name, i) => `$${first + i}::${arrayType(types[name])}[]`);
  const values = names.map((name) => rows.map((row) => parameter(row[name], types[name])));
  return { from: `unnest(${parts.join(', ')}) AS item(${names.map((name) => `"${name}"`).join(', ')})`, values };
}

function arrayType(type: ColumnType): string {
  return type === 'jsonb' ? 'text' : type;
}

function parameter(value: unknown, type: ColumnType): unknown {
  if (value === undefined || value === null) return null;
  return type === 'jsonb' ? JSON.stringify(value) : value;
}

/**
 * prepared runs a statement that PostgreSQL parses and plans once per connection. Use it for the few statements that run with every signature. A name must
 * always be used with the same text. Throws the driver's errors (see database-error.ts).
 *
 * @returns result rows
 */
export async function prepared<Row>(tx: EntityManager, name: string, text: string, values: unknown[]): Promise<Row[]> {
  if (tx.queryRunner === undefined) throw new Error('prepared statements must be executed in a transaction');
  return preparedOn(tx.queryRunner, name, text, values);
}

/** preparedRead is like `prepared`, for a statement without parameters outside of a transaction. */
export async function preparedRead<Row>(db: DataSource, name: string, text: string): Promise<Row[]> {
  const runner = db.createQueryRunner();
  try {
    return await preparedOn(runner, name, text, []);
  } finally {
    await runner.release();
  }
}

async function preparedOn<Row>(runner: QueryRunner, name: string, text: string, values: unknown[]): Promise<Row[]> {
  const client = (await runner.connect()) as PoolClient;
  const { rows } = await client.query<Row & object>({ name, text, values });
  return rows;
}

/** advisoryLock locks a name until the end of the transaction. Waits while another transaction holds the lock. */
export async function advisoryLock(tx: EntityManager, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/**
 * sharedAdvisoryLock locks a name against `advisoryLock` until the end of the transaction. Unlike shared row locks, which can delay an update forever,
 * advisory locks are granted in the order of the requests.
 */
export async function sharedAdvisoryLock(tx: EntityManager, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [name]);
}
