import { DataSource } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { dataSourceOptions } from '../platform/database/data-source-options.js';
import { runMigrations } from '../platform/database/run-migrations.js';

/** Brings the database to the schema of this version. */
export async function migrate(): Promise<void> {
  const db = await new DataSource({ ...dataSourceOptions(new Config()), extra: { statement_timeout: 0 } }).initialize();
  try {
    const done = await runMigrations(db);
    process.stdout.write(
      done.length === 0 ? 'The schema is up to date.\n' : `${done.map((name) => `applied ${name}`).join('\n')}\n`,
    );
  } finally {
    await db.destroy();
  }
}
