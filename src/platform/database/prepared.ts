import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';

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
