import type { QueryRunner } from 'typeorm';

/**
 * createIndexConcurrently creates an index without blocking writes (PostgreSQL manual, CREATE INDEX, "Building Indexes Concurrently"). The migration needs
 * `transaction = false`. An invalid index left by an interrupted attempt is dropped first.
 *
 * @param columns everything after the table name, such as `(status, id) WHERE status <> 'SIGNED'`
 */
export async function createIndexConcurrently(
  on: QueryRunner,
  name: string,
  table: string,
  columns: string,
  kind: 'INDEX' | 'UNIQUE INDEX' = 'INDEX',
): Promise<void> {
  // The index build waits for open transactions without blocking any statement.
  await on.query('SET lock_timeout = 0');
  try {
    await on.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`);
    await on.query(`CREATE ${kind} CONCURRENTLY "${name}" ON "${table}" ${columns}`);
  } finally {
    await on.query('RESET lock_timeout');
  }
}
