import { Config } from '../platform/config/config.js';
import { migrateDatabase } from '../platform/database/migrate.js';

/** Brings the database to the schema of this version. */
export async function migrate(): Promise<void> {
  const done = await migrateDatabase(new Config(), print);
  const lines = done.length === 0 ? ['The schema is up to date.'] : done.map((name) => `applied ${name}`);
  for (const line of lines) print(line);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
