import type { DataSource } from 'typeorm';

/** Any number; the same in every version, so that two instances that start together do not migrate together. */
const MIGRATION_LOCK = 7_310_119;

/**
 * Applies what is missing and answers the names. Whoever comes second waits. The lock is held by one connection that
 * does nothing else, so it is gone as soon as that process is.
 */
export async function runMigrations(db: DataSource): Promise<string[]> {
  const keeper = db.createQueryRunner();
  await keeper.connect();
  try {
    await keeper.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await db.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  } finally {
    await keeper.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await keeper.release();
  }
}
