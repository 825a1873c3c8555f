import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/platform/database/new-id.js';
import { RELATIONSHIP_KINDS, bitOf } from '../../src/inventory/model/asset-relationship.entity.js';
import { openStage, type Stage } from '../support/stage.js';
import { BOUNDED } from '../support/text-indexes.js';

const ROOT = join(import.meta.dirname, '../..');

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** The command line of TypeORM on the entities and migrations of the build. */
const typeorm = (...args: string[]) =>
  node([join(ROOT, 'node_modules/typeorm/cli.js'), ...args, '-d', join(ROOT, 'ormconfig.ts')]);

async function node(command: string[], settings = stage.settings): Promise<{ code: number; output: string }> {
  const env = { ...process.env, ...settings };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: ROOT, env });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

const check = () => typeorm('migration:generate', 'difference', '--check');

const tables = async (): Promise<string[]> => {
  const rows = await stage.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

it('the migrations make what the entities describe', async () => {
  const { code, output } = await check();
  expect(output).toContain('No changes in database schema were found');
  expect(code).toBe(0);
});

it('a difference would be found', async () => {
  await stage.sql(`ALTER TABLE signing_request ALTER COLUMN reference SET NOT NULL`);
  const { code, output } = await check();
  expect(output).toContain('reference');
  expect(code).not.toBe(0);
  await stage.sql(`ALTER TABLE signing_request ALTER COLUMN reference DROP NOT NULL`);
});

it('every index of text is over a bounded column, so that no text that somebody sends exceeds its maximum', async () => {
  const columns = await stage.sql<{ name: string }>(
    `SELECT DISTINCT format('%s.%s', i.indrelid::regclass, trim('"' FROM pg_get_indexdef(i.indexrelid, k, true))) AS name
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
     CROSS JOIN generate_series(1, i.indnatts) k
     JOIN pg_attribute a ON a.attrelid = i.indexrelid AND a.attnum = k
     WHERE c.relnamespace = 'public'::regnamespace AND am.amname IN ('btree', 'gin', 'gist')
       AND format_type(a.atttypid, NULL) IN ('text', 'text[]', 'character varying', 'bytea', 'jsonb', 'name')
     ORDER BY 1`,
  );
  const named = Object.values(BOUNDED).flat();
  expect(columns.map(({ name }) => name)).toEqual(named.toSorted((a, b) => (a < b ? -1 : 1)));
});

it('every migration can be reverted and applied again', async () => {
  const before = await tables();
  const [{ count } = { count: 0 }] = await stage.sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM migrations',
  );
  expect(count).toBeGreaterThan(0);
  // One process for all of them: the command line would be one each.
  const { code, output } = await node([join(ROOT, 'test/support/revert-migrations.mjs'), String(count)]);
  expect(output).toBe('');
  expect(code).toBe(0);
  expect(await tables()).toEqual(['migrations']);
  expect((await typeorm('migration:run')).code).toBe(0);
  expect(await tables()).toEqual(before);
  expect((await check()).code).toBe(0);
});

it('searches of large tables have their indexes as soon as the database may have pg_trgm, and until then the operator is told', async () => {
  const admin = new Client({ connectionString: process.env['SW_TEST_DATABASE_URL'] });
  await admin.connect();
  const name = `plain_${process.pid}`;
  await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD '${name}'`);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = (user: string, password: string) => {
    const address = new URL(process.env['SW_TEST_DATABASE_URL'] ?? '');
    return Object.assign(address, { pathname: `/${name}`, ...(user === '' ? {} : { username: user, password }) }).href;
  };
  const inside = new Client({ connectionString: url('', '') });
  await inside.connect();
  try {
    await inside.query(`GRANT ALL ON SCHEMA public TO ${name}`);
    const settings = { ...stage.settings, SVC_DATABASE_URL: url(name, name) };
    const migrate = async () => (await node([join(ROOT, 'dist/cli.js'), 'migrate'], settings)).output;
    const indexes = async () =>
      (
        await inside.query<{ name: string }>(
          `SELECT relname AS name FROM pg_class WHERE relname ~ '_(?:text|start)$' AND relkind = 'i' ORDER BY 1`,
        )
      ).rows.map((row) => row.name);
    expect(await migrate()).toMatch(/CREATE EXTENSION pg_trgm.*permission denied/);
    expect(await indexes()).toEqual([]);
    await inside.query('CREATE EXTENSION pg_trgm');
    expect(await migrate()).toBe('The schema is up to date.\n');
    expect(await indexes()).toEqual([]);
    // As ANALYZE says it of tables with as many rows.
    await inside.query(`UPDATE pg_class SET reltuples = 300000 WHERE relname IN ('asset', 'asset_occurrence')`);
    expect(await migrate()).toContain('making the index asset_name_text');
    expect(await indexes()).toEqual([
      'asset_name_text',
      'asset_occurrence_location_start',
      'asset_occurrence_location_text',
    ]);
    expect(await migrate()).toBe('The schema is up to date.\n');
  } finally {
    await inside.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.query(`DROP ROLE ${name}`);
    await admin.end();
  }
});

/** Takes back a migration and all that came after it. */
async function revertTo(name: string): Promise<unknown> {
  const [{ count } = { count: 0 }] = await stage.sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM migrations WHERE id >= (SELECT id FROM migrations WHERE name = $1)',
    [name],
  );
  return node([join(ROOT, 'test/support/revert-migrations.mjs'), String(count)]);
}

it('assets show what their verdicts say when it stands with the verdicts alone, and when that is taken back', async () => {
  const revert = () => revertTo('FactsOfVerdicts1796600000003');
  const facts = (table: string) =>
    stage.sql(
      `SELECT name, family, bits, level, quantum, classical, rule, deadline::text, changed_at FROM ${table} ORDER BY name`,
    );
  expect(await revert()).toEqual({ code: 0, output: '' });
  await stage.sql(
    `WITH v AS (
       INSERT INTO risk_verdict (id, subject, verdict, rules) VALUES (gen_random_uuid(), '{"kind": "algorithm"}',
         '{"family": "RSA", "bits": 1024, "level": "CRITICAL", "rule": "C-RSA", "deadline": "2030-12-31",
           "quantum": {"status": "quantum-vulnerable"}, "classical": {"status": "broken"}}', '1')
       RETURNING id)
     INSERT INTO asset (id, kind, name, component, content, verdict_id, family, bits, level, quantum, classical, rule, deadline, changed_at)
     SELECT gen_random_uuid(), 'algorithm', 'judged', '{}'::json, gen_random_uuid(), id, 'RSA', 1024, 4, 'quantum-vulnerable', 'broken', 'C-RSA',
       '2030-12-31'::date, '2026-01-02T03:04:05Z'::timestamptz FROM v
     UNION ALL SELECT gen_random_uuid(), 'component', 'plain', '{}', gen_random_uuid(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, now()`,
  );
  const before = await facts('asset');
  expect((await typeorm('migration:run')).code).toBe(0);
  expect(await facts('judged_asset')).toEqual(before);
  expect(await revert()).toEqual({ code: 0, output: '' });
  expect(await facts('asset')).toEqual(before);
  expect((await typeorm('migration:run')).code).toBe(0);
});

it('edges keep their kinds when they become one row, and when that is taken back', async () => {
  const revert = () => revertTo('OneRowPerEdge1796600000001');
  const before = () => stage.sql('SELECT from_id, kind, to_id, source_id FROM asset_relationship ORDER BY 1, 2, 3, 4');
  const kinds = async () =>
    (await stage.sql<{ kinds: number }>('SELECT kinds FROM asset_relationship ORDER BY 1')).map((row) => row.kinds);
  expect(await revert()).toEqual({ code: 0, output: '' });
  await stage.sql(
    `INSERT INTO asset_relationship (from_id, kind, to_id, source_id) SELECT f.id, k.kind, t.id, s.id
     FROM unnest($1::text[]) k (kind), (VALUES (gen_random_uuid())) f (id), (VALUES (gen_random_uuid())) t (id), (VALUES (gen_random_uuid())) s (id)
     UNION ALL SELECT gen_random_uuid(), kind, gen_random_uuid(), gen_random_uuid() FROM unnest($1::text[]) k (kind)`,
    [[...RELATIONSHIP_KINDS]],
  );
  const rows = await before();
  expect(rows).toHaveLength(2 * RELATIONSHIP_KINDS.length);
  expect((await typeorm('migration:run')).code).toBe(0);
  const bits = RELATIONSHIP_KINDS.map(bitOf);
  const all = bits.reduce((mask, bit) => mask | bit, 0);
  expect((await kinds()).toSorted((a, b) => a - b)).toEqual([...bits, all]);
  expect(await revert()).toEqual({ code: 0, output: '' });
  expect(await before()).toEqual(rows);
  expect((await typeorm('migration:run')).code).toBe(0);
});

it('a sensor keeps every key that it was given, and a webhook endpoint its old secret', async () => {
  const revert = () => revertTo('EveryKeyInUse1796900000000');
  expect(await revert()).toEqual({ code: 0, output: '' });
  const [first, second, third] = [newId(), newId(), newId()];
  await stage.sql(
    `INSERT INTO api_key (id, name, permissions, expiry, lookup, secret_hash, owner_id, replaced_by)
     SELECT k.id, 'sensor east', '{}', now() + interval '1 day', k.id::text, '\\x00', 'nobody', k.next
     FROM unnest($1::uuid[], $2::uuid[]) k (id, next)`,
    [
      [first, second, third],
      [second, third, null],
    ],
  );
  await stage.sql(
    `INSERT INTO sensor (id, name, kind, api_key_id, old_api_key_id) VALUES (gen_random_uuid(), 'east', 'host', $1, $2)`,
    [third, second],
  );
  await stage.sql(
    `INSERT INTO webhook_endpoint (id, name, format, shown_url, url, secret, old_secret, old_secret_until, events)
     SELECT gen_random_uuid(), name, 'standard', '', '', '\\x02', '\\x01', now() + age, '{}'
     FROM (VALUES ('in use', interval '1 hour'), ('over', interval '-1 hour')) v (name, age)`,
  );
  expect((await typeorm('migration:run')).code).toBe(0);
  const keys = await stage.sql<{ id: string }>(
    `SELECT k.api_key_id AS id FROM sensor_api_key k JOIN sensor s ON s.id = k.sensor_id WHERE s.name = 'east'`,
  );
  expect(new Set(keys.map(({ id }) => id))).toEqual(new Set([first, second, third]));
  const secrets = () =>
    stage.sql(`SELECT e.name, o.secret FROM webhook_old_secret o JOIN webhook_endpoint e ON e.id = o.endpoint_id`);
  expect(await secrets()).toEqual([{ name: 'in use', secret: Buffer.from([1]) }]);
  expect(await revert()).toEqual({ code: 0, output: '' });
  expect(await stage.sql('SELECT api_key_id, old_api_key_id FROM sensor')).toEqual([
    { api_key_id: third, old_api_key_id: second },
  ]);
  expect((await typeorm('migration:run')).code).toBe(0);
});
