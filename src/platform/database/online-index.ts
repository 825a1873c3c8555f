import type { QueryRunner } from 'typeorm';

/**
 * Makes an index on a table that the service writes to meanwhile (PostgreSQL manual, CREATE INDEX, "Building Indexes Concurrently"). The
 * migration has `transaction = false`. What an attempt that was broken off has left is removed first: such an index is of no use.
 *
 * @param columns with everything after the table: `(status, id) WHERE status <> 'SIGNED'`
 */
export async function createIndexConcurrently(
  on: QueryRunner,
  name: string,
  table: string,
  columns: string,
  kind: 'INDEX' | 'UNIQUE INDEX' = 'INDEX',
): Promise<void> {
  // It waits for transactions that are open, and nobody waits for it.
  await on.query('SET lock_timeout = 0');
  try {
    await on.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
    await on.query(`CREATE ${kind} CONCURRENTLY "${name}" ON "${table}" ${columns}`);
  } finally {
    await on.query('RESET lock_timeout');
  }
}
