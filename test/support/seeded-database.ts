import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestToken } from './hsm.js';

/** Key of the advisory lock for creating and copying the seeded template. */
const LOCK = 7_310_022;
const TEMPLATE = 'template_seeded';

export interface SeededCopy {
  readonly adminUrl: string;
  /** Database to replace with a copy of the seeded database. */
  readonly databaseUrl: string;
  /** Token to replace with a copy of the token that has the seeded keys. */
  readonly token: TestToken;
}

/**
 * Copies the demo seed's data to a stage. Only the first stage of a run is seeded, by `seed`, which works in the given directory and returns a separate
 * database and token.
 *
 * @returns the directory in which `seed` worked
 */
export async function copySeeded(
  { adminUrl, databaseUrl, token }: SeededCopy,
  seed: (directory: string) => Promise<{ databaseUrl: string; tokens: string }>,
): Promise<string> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(${LOCK})`);
    let directory = await placeOfTemplate(client);
    if (directory === undefined) {
      directory = mkdtempSync(join(tmpdir(), 'sealwright-seeded-'));
      const made = await seed(directory);
      cpSync(made.tokens, join(directory, 'tokens'), { recursive: true });
      await client.query(`ALTER DATABASE ${nameOf(made.databaseUrl)} RENAME TO ${TEMPLATE}`);
      await client.query(`COMMENT ON DATABASE ${TEMPLATE} IS '${directory}'`);
    }
    await client.query(`DROP DATABASE ${nameOf(databaseUrl)} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${nameOf(databaseUrl)} TEMPLATE ${TEMPLATE}`);
    rmSync(token.tokens, { recursive: true });
    cpSync(join(directory, 'tokens'), token.tokens, { recursive: true });
    return directory;
  } finally {
    await client.end();
  }
}

/** Returns the directory of the template's token, which is stored in the template database's comment. */
async function placeOfTemplate(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ place: string }>(
    `SELECT shobj_description(oid, 'pg_database') AS place FROM pg_database WHERE datname = $1`,
    [TEMPLATE],
  );
  return rows[0]?.place;
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);
