import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';

/**
 * Makes the commit of this transaction, or of this statement, wait until a standby has everything that was read, where commits wait for one (decision 164). A
 * commit waits only when it wrote to the log: this writes 60 bytes there and nothing elsewhere. For answers that confirm what an earlier call has done.
 */
export async function confirmRead(tx: Pick<EntityManager, 'query'>): Promise<void> {
  await tx.query(`SELECT pg_logical_emit_message(true, 'sealwright', '')`);
}

/** SQL types that `columns` can pass as arrays. jsonb travels as text and is cast in the statement. */
type ColumnType = 'uuid' | 'text' | 'int' | 'bytea' | 'jsonb' | 'boolean' | 'timestamptz';

/**
 * Turns rows into one array parameter per column, for `SELECT … FROM unnest($1::uuid[], $2::text[], …)`:
 * one statement of constant text whatever the number of rows.
 *
 * @returns `from`: the unnest(…) expression with aliases, starting at parameter `first`; `values`: its parameters.
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
 * Runs a statement that PostgreSQL parses and plans once per connection instead of each time: for the few that run with every
 * signature. A name stands for one text, always. Errors are the driver's own (see database-error.ts).
 *
 * @returns the rows that the statement answers.
 */
export async function prepared<Row>(tx: EntityManager, name: string, text: string, values: unknown[]): Promise<Row[]> {
  if (tx.queryRunner === undefined) throw new Error('a prepared statement runs in a transaction');
  const client = (await tx.queryRunner.connect()) as PoolClient;
  const { rows } = await client.query<Row & object>({ name, text, values });
  return rows;
}

/** Locks a name until the end of the transaction. Waits while another transaction has it. */
export async function advisoryLock(tx: EntityManager, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
