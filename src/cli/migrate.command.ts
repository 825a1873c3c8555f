import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/data-source-options.js';

/** Brings the database to the schema of this version. */
export async function migrate(): Promise<void> {
  const done = await migrateDatabase(new Config());
  const lines = done.length === 0 ? ['The schema is up to date.'] : done.map((name) => `applied ${name}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}
