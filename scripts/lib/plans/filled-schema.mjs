import path from 'node:path';
import { ROOT } from '../project.mjs';
import { run } from '../run.mjs';
import { GROWING, SMALL } from './tables.mjs';

const ROWS = 3000;
/** How many there are as far as the planner knows: on a table of some thousand rows it has reasons to read all of it, which it has not later. */
const ASSUMED_ROWS = 10_000_000;

/** SQL for a value of a type in row `g`. Nothing in it is random: the same values give the same statistics, and these the same plans. */
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

/** Columns with few values, each of them frequent; an index over the rare ones is not seen by a plan that does not know the value. */
const FEW_VALUES = /^(?:status|state|kind|severity|environment|type|format)$/;

/**
 * Makes a database with the schema of this version, whose growing tables have rows and look large to the planner, and drops it in the end.
 *
 * @template T
 * @param {string} adminUrl a server, as somebody who may create databases
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
      // Once more: only tables that look large have all their indexes. Who makes one counts the rows again.
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

/** Tables of the schema of which nobody has said whether they grow, and tables that are not there (any more). */
export async function unknownTables(client) {
  const { rows } = await client.query(`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`);
  const there = rows.map(({ name }) => name);
  const named = [...GROWING, ...SMALL];
  return [
    ...there.filter((name) => !named.includes(name)).map((name) => `${name} is in none of the lists`),
    ...named.filter((name) => !there.includes(name)).map((name) => `${name} is no table`),
  ];
}

async function connected(connectionString) {
  // Loaded here: the program that installs packages has none when it starts.
  const { Client } = await import('pg');
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function migrate(url) {
  const env = { ...process.env, SVC_DATABASE_URL: url };
  const { code, output } = await run(process.execPath, [path.join(ROOT, 'dist/cli.js'), 'migrate'], { env });
  if (code !== 0) throw new Error(`the schema was not made:\n${output}`);
}

/** Rows of any kind: what counts is that there are many, and that they differ. */
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
  // It would count the rows while the statements are explained, and the table would look small again.
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
