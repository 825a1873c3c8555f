import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project.mjs';
import { run } from './run.mjs';

/**
 * Tables that grow with what the service does, by decades of use; all others have as many rows as people make by hand, or as there are sets of
 * facts (`risk_verdict`: some hundreds for a million assets).
 */
const GROWING = [
  'alert',
  'alert_notification',
  'api_key',
  'approval',
  'approval_item',
  'approval_notice',
  'approval_vote',
  'asset',
  'asset_occurrence',
  'asset_relationship',
  'audit_entry',
  'auth_session',
  'bom_link_refs',
  'external_identity',
  'host',
  'host_key',
  'idempotency_key',
  'inventory_document',
  'inventory_import',
  'inventory_source',
  'inventory_source_count',
  'log_checkpoint',
  'log_leaf',
  'log_tile',
  'mail_message',
  'refresh_token',
  'scan',
  'scan_result',
  'schedule_run',
  'secret_disclosure',
  'sensor_command',
  'signing_batch',
  'signing_envelope',
  'signing_request',
  'ssh_certificate',
  'ssh_key',
  'ssh_key_finding',
  'ssh_key_location',
  'ssh_key_login',
  'ssh_revocation',
  'ssh_rotation',
  'ssh_rotation_step',
  'ssh_rotation_target',
  'timestamp',
  'user_account',
  'webhook_delivery',
  'workload_identity',
  'workload_token_use',
];
const ROWS = 3000;
/** How many there are as far as the planner knows: on a table of some thousand rows it has reasons to read all of it, which it has not later. */
const ASSUMED_ROWS = 10_000_000;
/** What a statement ends with that is sent with a time limit of its own: whoever sends it has another way when it is stopped. */
const BOUNDED = /-- ended after \d+ ms$/;

/** Statements that read a growing table whole by what they are for; each with the reason. */
const READS_ALL = JSON.parse(readFileSync(new URL('statements-that-read-all.json', import.meta.url), 'utf8'));

/** SQL for a value of a type in row `g`. */
const VALUES = {
  uuid: 'gen_random_uuid()',
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
 * Asks PostgreSQL how it would run every statement that the service has sent during its tests, on tables that have rows, with sequential scans as
 * the last resort. A statement that still reads a growing table from end to end has no index to go by: it gets slower with every day.
 *
 * @param {{ adminUrl: string, evidence: string }} from the server of the tests, and where they noted the statements
 * @returns {Promise<{ explained: number, findings: string[] }>}
 */
export async function explainStatements({ adminUrl, evidence }) {
  const statements = statementsIn(evidence);
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
      return await explainEach(client, statements);
    } finally {
      await client.end();
    }
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
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

function statementsIn(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith('statements-'))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const texts = files.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  return [...new Set(texts)].map((line) => JSON.parse(line));
}

/** Rows of any kind: what counts is that there are many, and that they differ. */
async function fill(client) {
  await client.query('SET session_replication_role = replica');
  const { rows: checks } = await client.query(
    `SELECT conrelid::regclass AS "table", quote_ident(conname) AS name FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0`,
  );
  for (const { table, name } of checks) await client.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const table of GROWING) {
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
  await client.query('RESET session_replication_role');
  await client.query('ANALYZE');
  await client.query(`UPDATE pg_class SET reltuples = ${ASSUMED_ROWS} WHERE relkind = 'r' AND relname = ANY($1)`, [
    GROWING,
  ]);
}

async function explainEach(client, statements) {
  const partial = await partialIndexes(client);
  for (const text of statements.filter((one) => /^\s*CREATE TEMP/i.test(one)))
    await client.query(text).catch(() => undefined);
  await client.query('SET enable_seqscan = off');
  await control(client, partial);
  const findings = [];
  let explained = 0;
  for (const text of statements.filter((one) => !/^\s*CREATE TEMP/i.test(one))) {
    if (/;\s*\S/.test(text) || BOUNDED.test(text) || READS_ALL.some(({ holds }) => text.includes(holds))) continue;
    const { scans, fault } = await scansOf(client, text, partial);
    if (fault === undefined) explained += 1;
    // Tables that the tests make themselves, and catalogs, are not of this schema.
    else if (!/does not exist/.test(fault)) findings.push(`not explained (${fault}): ${short(text)}`);
    for (const scan of scans) findings.push(`${scan}: ${short(text)}`);
  }
  return { explained, findings };
}

/** Statements and how many whole scans each has: the check must find what it is there for, and nothing else. */
const CONTROLS = [
  ['SELECT name FROM asset a WHERE a.id::text = $1', 1],
  ['SELECT name FROM asset a WHERE a.id = $1', 0],
  // Ends with its page, whatever the filter.
  ['SELECT name FROM asset a WHERE a.version > $1 ORDER BY a.id LIMIT 51', 0],
  // The page is never full: hardly any asset has this content.
  ['SELECT name FROM asset a WHERE a.content = $1 ORDER BY a.id LIMIT 51', 1],
  // All are read before the first is known.
  ['SELECT name FROM asset a ORDER BY a.version LIMIT 51', 1],
];

async function control(client, partial) {
  for (const [text, wanted] of CONTROLS) {
    const { scans, fault } = await scansOf(client, text, partial);
    if (scans.length !== wanted)
      throw new Error(`the check finds ${scans.length} scans, not ${wanted}, in: ${text} ${fault ?? ''}`);
  }
}

/** Indexes over a part of the rows: those of queues, which are short. */
async function partialIndexes(client) {
  const { rows } = await client.query(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indpred IS NOT NULL`,
  );
  return new Set(rows.map(({ name }) => name));
}

async function scansOf(client, text, partial) {
  try {
    const { rows } = await client.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`);
    return { scans: wholeScans(rows[0]['QUERY PLAN'][0].Plan, partial, false) };
  } catch (error) {
    return { scans: [], fault: error.message };
  }
}

/** Nodes that take all their rows before they give the first. */
const TAKES_ALL = /^(?:Sort|Hash|Aggregate|ModifyTable|WindowAgg|SetOp|Materialize|BitmapOr|BitmapAnd)$/;

/**
 * Scans without a condition that an index knows.
 *
 * @param ends whether a limit above ends the scan after some rows
 */
function wholeScans(node, partial, ends) {
  const below = node['Node Type'] === 'Limit' ? fillsPage(node) : ends && !TAKES_ALL.test(node['Node Type']);
  const scans = (node.Plans ?? []).flatMap((child) => wholeScans(child, partial, below));
  const table = node['Relation Name'];
  if (table === undefined || !GROWING.includes(table) || !node['Node Type'].endsWith('Scan')) return scans;
  const goesBy = node['Index Cond'] ?? node['Recheck Cond'] ?? node['TID Cond'];
  const isShort =
    partial.has(node['Index Name']) || (node.Plans ?? []).some((child) => partial.has(child['Index Name']));
  return goesBy !== undefined || isShort || below ? scans : [...scans, `${node['Node Type']} of ${table}`];
}

/** Whether there are more rows below than a limit lets through, as far as the planner can tell. If not, all are read, whatever the limit. */
function fillsPage(limit) {
  return limit.Plans[0]['Plan Rows'] > limit['Plan Rows'];
}

/** Beginning and end: what is between them is mostly the list of columns. */
function short(text) {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 100)} … ${line.slice(-200)}`;
}
