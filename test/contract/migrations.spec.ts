import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATION_NAMES } from '../../src/platform/observability/product-version.js';
import { openStage, type Stage } from '../support/stage.js';
import { BOUNDED } from '../support/text-indexes.js';

const ROOT = join(import.meta.dirname, '../..');

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Runs the TypeORM CLI with the entities and migrations of the build. */
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

it('migrations create the schema that the entities describe', async () => {
  const { code, output } = await check();
  expect(output).toContain('No changes in database schema were found');
  expect(code).toBe(0);
});

it('a schema difference would be detected', async () => {
  await stage.sql(`ALTER TABLE signing_request ALTER COLUMN reference SET NOT NULL`);
  const { code, output } = await check();
  expect(output).toContain('reference');
  expect(code).not.toBe(0);
  await stage.sql(`ALTER TABLE signing_request ALTER COLUMN reference DROP NOT NULL`);
});

it('every text index covers a bounded column, so that no submitted text exceeds the maximum size', async () => {
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

describe('a database of the version before the baseline', () => {
  const migrate = () => node([join(ROOT, 'dist/cli.js'), 'migrate']);
  const applied = async (...names: string[]) => {
    await stage.sql('DELETE FROM migrations');
    for (const name of names)
      await stage.sql('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [name.slice(-13), name]);
  };

  it('continues unchanged, with the migrations that follow the baseline', async () => {
    await applied('FirstSchema1763600000000', 'EndsAtProviders1798000048200');
    await stage.sql('ALTER TABLE approver_group_member DROP COLUMN added_behind');
    await stage.sql('ALTER TABLE workload_trust DROP COLUMN changed_by');
    await stage.sql('ALTER TABLE schedule DROP COLUMN made_behind');
    await stage.sql('ALTER TABLE invitation DROP COLUMN inviter_behind');
    await stage.sql('ALTER TABLE asset DROP COLUMN proven');
    await stage.sql('ALTER TABLE workload_issuer DROP COLUMN disabled_at');
    await stage.sql('ALTER TABLE risk_verdict DROP COLUMN reporter');
    await stage.sql('ALTER TABLE api_key DROP COLUMN signing_keys, DROP COLUMN revision');
    await stage.sql('ALTER TABLE oauth_client DROP COLUMN signing_keys, DROP COLUMN revision');
    await stage.sql('ALTER TABLE webhook_endpoint DROP COLUMN givers, DROP COLUMN owner_id, DROP COLUMN feed_position');
    await stage.sql('ALTER TABLE webhook_endpoint DROP COLUMN owned_since');
    await stage.sql('ALTER TABLE webhook_delivery DROP COLUMN subject, DROP COLUMN position');
    const before = await tables();
    expect(await migrate()).toMatchObject({ code: 0, output: expect.stringContaining('applied Baseline') });
    expect(await tables()).toEqual(before);
    expect((await check()).code).toBe(0);
  });

  it('is rejected if it lacks a migration that the baseline replaces, with the version that has it', async () => {
    await applied('FirstSchema1763600000000');
    const { code, output } = await migrate();
    expect(code).not.toBe(0);
    expect(output).toMatch(
      /^sealwright-admin: .*Run "sealwright-admin migrate" of version 0\.1\.0 \(commit [0-9a-f]{9}\) first\.\n$/m,
    );
    await applied(...MIGRATION_NAMES);
  });
});

it('every migration can be reverted and applied again', async () => {
  const before = await tables();
  const [{ count } = { count: 0 }] = await stage.sql<{ count: number }>(
    'SELECT count(*)::int AS count FROM migrations',
  );
  expect(count).toBeGreaterThan(0);
  // Reverts all migrations in one process. The TypeORM CLI would need one process per migration.
  const { code, output } = await node([join(ROOT, 'test/support/revert-migrations.mjs'), String(count)]);
  expect(output).toBe('');
  expect(code).toBe(0);
  expect(await tables()).toEqual(['migrations']);
  expect((await typeorm('migration:run')).code).toBe(0);
  expect(await tables()).toEqual(before);
  expect((await check()).code).toBe(0);
});

it('search indexes of large tables are created once pg_trgm is available, and until then the operator is notified', async () => {
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
    // Simulates the statistics of ANALYZE for tables with this many rows.
    await inside.query(`UPDATE pg_class SET reltuples = 300000 WHERE relname IN ('asset', 'asset_occurrence')`);
    expect(await migrate()).toContain('creating the index asset_name_text');
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
