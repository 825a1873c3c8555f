import path from 'node:path';
import { ROOT } from '../project.mjs';
import { run } from '../run.mjs';
import { GROWING, SMALL } from './tables.mjs';

const ROWS = 3000;
/** Row count reported to the planner, which may prefer a full scan on a table of a few thousand rows. */
const ASSUMED_ROWS = 10_000_000;

/** SQL expressions for the value in row `g`, by column type. The values are not random, so that statistics and plans are always the same. */
const VALUES = {
  uuid: `md5('id' || g)::uuid`,
  text: `'x' || g`,
  bool: 'g % 2 = 0',
  int2: '(g % 100)::int2',
  int4: 'g % 1000',
  int8: 'g',
  float8: 'g',
  timestamptz: `now() - g * interval '1 minute'`,
  date: 'current_date - g % 1000',
  bytea: `decode(md5(g::text), 'hex')`,
  json: `'{}'::json`,
  jsonb: `'{}'::jsonb`,
};

/** Columns with a few frequent values. A generic plan, which does not know the value, cannot use a partial index on the rare values. */
const FEW_VALUES = /^(?:status|state|kind|severity|environment|type|format)$/;

/**
 * onFilledSchema creates a database with the schema of this version, in which growing tables have rows and look large to the planner, and drops the database at
 * the end.
 *
 * @template T
 * @param {string} adminUrl a server, as a user who may create databases
 * @param {(client: import('pg').Client) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function onFilledSchema(adminUrl, work) {
  const name = `plans_${process.pid}`;
  const admin = await connected(adminUrl);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  try {
    await migrate(url.href);
    const client = await connected(url.href);
    try {
      await fill(client);
      await makeLookLarge(client);
      // Runs the migrations again, because some indexes are created only on tables that look large. Creating an index updates the row count, so the row count
      // is set again afterwards.
      await migrate(url.href);
      await makeLookLarge(client);
      return await work(client);
    } finally {
      await client.end();
    }
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
}

/** unknownTables returns tables of the schema that are in neither list, and listed tables that do not exist. */
export async function unknownTables(client) {
  const { rows } = await client.query(`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`);
  const there = rows.map(({ name }) => name);
  const named = [...GROWING, ...SMALL];
  return [
    ...there.filter((name) => !named.includes(name)).map((name) => `${name} is not in any of the lists`),
    ...named.filter((name) => !there.includes(name)).map((name) => `${name} is not a table`),
  ];
}

async function connected(connectionString) {
  // Imported lazily, because this module is also loaded in a fresh clone, before any package is installed.
  const { Client } = await import('pg');
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function migrate(url) {
  const env = { ...process.env, SVC_DATABASE_URL: url };
  const { code, output } = await run(process.execPath, [path.join(ROOT, 'dist/cli.js'), 'migrate'], { env });
  if (code !== 0) throw new Error(`the schema could not be created:\n${output}`);
}

/** Fills the tables with many different rows. */
async function fill(client) {
  await client.query('SET session_replication_role = replica');
  const { rows: checks } = await client.query(
    `SELECT conrelid::regclass AS "table", quote_ident(conname) AS name FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0`,
  );
  for (const { table, name } of checks) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const table of GROWING) await fillTable(client, table);
  await client.query('RESET session_replication_role');
  await client.query('ANALYZE');
}

async function makeLookLarge(client) {
  await client.query(`UPDATE pg_class SET reltuples = ${ASSUMED_ROWS} WHERE relkind = 'r' AND relname = ANY($1)`, [
    GROWING,
  ]);
}

async function fillTable(client, table) {
  // Autovacuum would reset the row count while statements are explained, and the table would look small again.
  await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  const { rows: columns } = await client.query(
    `SELECT quote_ident(attname) AS name, t.typname AS type FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' AND attgenerated = ''`,
    [table],
  );
  const values = columns.map(({ name, type }) => {
    if (type === 'text' && FEW_VALUES.test(name)) return `'x' || g % 6`;
    return type.startsWith('_') ? `'{}'` : (VALUES[type] ?? 'NULL');
  });
  await client.query(
    `INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')}) SELECT ${values.join(', ')} FROM generate_series(1, ${ROWS}) g ON CONFLICT DO NOTHING`,
  );
}
