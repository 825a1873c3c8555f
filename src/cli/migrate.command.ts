import { DataSource } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { DatabaseClient, dataSourceOptions } from '../platform/database/data-source-options.js';

/** Brings the database to the schema of this version. */
export async function migrate(): Promise<void> {
  const done = await migrateDatabase(new Config());
  const lines = done.length === 0 ? ['The schema is up to date.'] : done.map((name) => `applied ${name}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Any number; the same in every version, so that two instances that start together do not migrate together. */
const MIGRATION_LOCK = 7_310_119;

/**
 * Applies the migrations that are missing and answers their names. A second process waits: the lock is held by
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
