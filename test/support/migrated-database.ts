import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

const MIGRATIONS = join(import.meta.dirname, '../../dist/platform/database/migrations');
/** Key of the advisory lock for creating the template, because test files run in parallel. */
const LOCK = 7_310_021;

/**
 * Creates a database with the schema of the build. Only the first database of a run is migrated, by `migrate`, and serves as the template for all other
 * databases with the same migrations.
 *
 * @returns the URL of the database, as its owner
 */
export async function createMigratedDatabase(
  adminUrl: string,
  migrate: (url: string) => Promise<unknown>,
): Promise<string> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const template = `template_${fingerprint()}`;
    await client.query(`SELECT pg_advisory_lock(${LOCK})`);
    const { rowCount } = await client.query(`SELECT FROM pg_database WHERE datname = $1`, [template]);
    if (rowCount === 0) {
      const fresh = await create(client, adminUrl);
      await migrate(fresh.url);
      await client.query(`ALTER DATABASE ${fresh.name} RENAME TO ${template}`);
    }
    const { url } = await create(client, adminUrl, `TEMPLATE ${template}`);
    return url;
  } finally {
    await client.end();
  }
}

async function create(client: Client, adminUrl: string, how = ''): Promise<{ name: string; url: string }> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await client.query(`CREATE DATABASE ${name} ${how}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { name, url: url.href };
}

function fingerprint(): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(MIGRATIONS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .sort())
    hash.update(readFileSync(join(MIGRATIONS, file)));
  return hash.digest('hex').slice(0, 16);
}
