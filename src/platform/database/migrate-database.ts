import { DataSource } from 'typeorm';
import type { Config } from '../config/config.js';
import { DatabaseClient } from './database-client.js';
import { dataSourceOptions } from './data-source-options.js';

/** Any number; the same in every version, so that two instances that start together do not migrate together. */
const MIGRATION_LOCK = 7_310_119;

/**
 * Applies the migrations that are missing and answers their names. Whoever comes second waits: the lock is held by
 * a connection that does nothing else, and is gone as soon as its process is.
 */
export async function migrateDatabase(config: Config): Promise<string[]> {
  // A migration may take longer than any query of the service may.
  const db = await new DataSource({ ...dataSourceOptions(config), extra: { Client: DatabaseClient } }).initialize();
  const keeper = db.createQueryRunner();
  try {
    await keeper.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await db.runMigrations({ transaction: 'each' });
    return applied.map(({ name }) => name);
  } finally {
    await keeper.release();
    await db.destroy();
  }
}
