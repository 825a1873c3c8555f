import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atKnownAddress } from '../auth/people.js';
import { sealwright } from '../client/program.js';
import { newApiKey } from '../support/access.js';
import { createToken } from '../support/hsm.js';
import { runToEnd } from '../support/service.js';
import { createKey, digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/**
 * Combines yesterday's database with today's token, as after a restore. Follows the drill in docs/restore.md, from the backup to the verification by auditors,
 * who kept a checkpoint that the restored database lacks.
 */
const MAIN = join(import.meta.dirname, '../../dist/main.js');

let stage: Stage;
let apiKey: string;
let address: Record<string, string>;
let url: string;
let directory: string;
let revoked: { id: string; key: string };
const children: ChildProcess[] = [];

const at = (name: string) => join(directory, name);
const settings = () => ({ ...stage.settings, ...address });
const database = () => new URL(stage.databaseUrl).pathname.slice(1);
const get = async (path: string, key = apiKey) => {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  address = await atKnownAddress();
  url = address['SVC_PUBLIC_URL'] ?? '';
  directory = mkdtempSync(join(tmpdir(), 'sealwright-restore-'));
});
afterAll(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await admin(`DROP DATABASE IF EXISTS ${database()}_backup WITH (FORCE)`);
  await stage.close();
  rmSync(directory, { recursive: true });
});

async function admin(sql: string): Promise<void> {
  const client = new Client({ connectionString: process.env['SW_TEST_DATABASE_URL'] });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function settled(): Promise<void> {
  await until('a checkpoint over all', 45, async () => {
    const [row] = await stage.sql<{ open: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM log_waiting) OR (SELECT size FROM log_head) <> coalesce((SELECT max(size) FROM log_checkpoint), 0) AS open`,
    );
    return row?.open === false;
  });
}

/** Runs `log verify` as an auditor who kept the log's key and the last checkpoint, or as a new auditor without `state`. */
async function audited(state?: string): Promise<{ code: number; out: string }> {
  const env = { SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: apiKey };
  const kept = state === undefined ? [] : ['--state', at(state)];
  const { code, out } = await sealwright(['log', 'verify', '--key', at('log.pem'), ...kept], { env });
  return { code, out };
}

/** Starts a process that must stay in restore mode, in which it serves no requests until the restore has been accepted. */
async function held(more: Record<string, string> = {}): Promise<{ code: string; detail: string }> {
  const env = { ...process.env, ...settings(), ...more };
  children.push(spawn(process.execPath, [MAIN], { env, stdio: 'ignore' }));
  const { body } = await until('an answer in restore mode', 60, () =>
    get('/api/v1/signing-keys').then(
      (answer) => String(answer.body['code']).startsWith('log.') && answer,
      () => undefined,
    ),
  );
  return { code: String(body['code']), detail: String(body['detail']) };
}

describe('a database restored from yesterday', () => {
  beforeAll(async () => {
    const before = await stage.start({ settings: address });
    revoked = await newApiKey(before, apiKey, ['sign:digest', 'sign:read']);
    await sign(before, { key: apiKey, body: { digest: digestOf('yesterday'), algorithm: 'sha256' } });
    await settled();
    await before.kill('SIGTERM');
    await admin(`CREATE DATABASE ${database()}_backup TEMPLATE ${database()}`);

    const after = await stage.start({ settings: { ...address, SVC_LOG_WITNESS: at('witness.jsonl') } });
    await createKey(after, apiKey, { name: 'after-backup', type: 'ec-p256' });
    expect((await after.call('DELETE', `/api/settings/api-keys/${revoked.id}`, { key: apiKey })).status).toBeLessThan(
      300,
    );
    await sign(after, { key: apiKey, body: { digest: digestOf('today'), algorithm: 'sha256' } });
    await settled();
    const { out } = await sealwright(['log', 'key'], { env: { SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: apiKey } });
    writeFileSync(at('log.pem'), out);
    expect(await audited('auditor.state')).toMatchObject({ code: 0 });
    const newer = await fetch(`${url}/api/v1/audit/log/export`, { headers: { authorization: `Bearer ${apiKey}` } });
    writeFileSync(at('newer.jsonl'), Buffer.from(await newer.arrayBuffer()));
    await until('the newest checkpoint is witnessed', 90, async () => existsSync(at('witness.jsonl')));
    await after.kill('SIGTERM');
    await admin(`DROP DATABASE ${database()} WITH (FORCE)`);
    await admin(`ALTER DATABASE ${database()}_backup RENAME TO ${database()}`);
  });

  it('is not served: every call returns 503 with the reason, and no worker runs', async () => {
    const { code, detail } = await held();
    expect(code).toBe('log.rolled-back');
    expect(detail).toContain('older copy');
    expect((await get('/actuator/health/readiness')).body['status']).toBe('OUT_OF_SERVICE');
    expect((await get('/actuator/health/liveness')).status).toBe(200);
    expect((await get('/api/v1/signing-keys', revoked.key)).status).toBe(503);

    const said = await runToEnd(['restore', 'status', '--log', at('newer.jsonl')], settings());
    expect(said).toContain('log.rolled-back: ');
    expect(said).toMatch(
      /1 keys in the token that this database does not have:\n {2}sealwright signing after-backup v1 /,
    );
    expect(said).toContain('0 keys in this database that the token does not have.');
    expect(said).toContain('Lost according to the newer log: 1 × api-key.revoked');
    expect(said).toContain('Accepting revokes 1 API keys');
    const [, leaves = ''] = /--leaves (\d+)/.exec(said) ?? [];
    expect(await runToEnd(['restore', 'accept', '--leaves', '1'], settings()).catch(String)).not.toContain('Accepted.');
    expect((await get('/api/v1/signing-keys')).status).toBe(503);

    const accept = [
      'restore',
      'accept',
      '--leaves',
      leaves,
      '--log',
      at('newer.jsonl'),
      '--witness',
      at('witness.jsonl'),
    ];
    const accepted = await runToEnd(accept, settings());
    expect(accepted).toMatch(/The newest checkpoint of the witness covers \d+ leaves\./);
    expect(accepted).toContain('Accepted. The audit log continues as ');
    await until('it serves', 60, () =>
      get('/api/v1/signing-keys').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });

  it('continues under another log origin, which old and new auditors verify', async () => {
    await settled();
    const old = await audited('auditor.state');
    expect(old.out).toMatch(
      /NOTE at \S+, an operator accepted that the log \S+\/log continues as \S+\/log\/2 from \d+ leaves: \d+ of the leaves/,
    );
    expect(old).toMatchObject({ code: 0 });
    expect(await audited('auditor.state')).toMatchObject({ code: 0 });
    expect(await audited()).toMatchObject({ code: 0 });
    const { body } = await get('/api/v1/audit/entries?action=log.rolled-back');
    const [entry] = body['items'] as { detail: Record<string, unknown> }[];
    expect(entry?.detail).toMatchObject({
      code: 'log.rolled-back',
      signed: { root: expect.any(String) as string },
      accepted: { root: expect.any(String) as string },
      apiKeysRevoked: 1,
    });
  });

  it('revokes again what a newer log shows as revoked', async () => {
    expect((await get('/api/v1/signing-keys', revoked.key)).status).toBe(401);
  });

  it('signs again, and a new process is not blocked', async () => {
    const another = await stage.start({ role: 'api', settings: { ...address, SVC_PORT: '0' } });
    const { status } = await sign(another, {
      key: apiKey,
      body: { digest: digestOf('tomorrow'), algorithm: 'sha256' },
    });
    expect(status).toBe(200);
    await another.kill();
  });
});

describe('a token and a database that do not match', () => {
  it('are rejected: the token without its database', async () => {
    const name = `${database()}_empty`;
    await admin(`CREATE DATABASE ${name}`);
    const own = Object.assign(new URL(stage.databaseUrl), { pathname: `/${name}` }).href;
    await runToEnd(['migrate'], { ...settings(), SVC_DATABASE_URL: own });
    const more = { SVC_DATABASE_URL: own, ...(await freePortBeside()) };
    const { code, detail } = await held(more);
    expect(code).toBe('log.no-database');
    expect(detail).toContain('Restore the database of this token');
  });

  it('are rejected: the database without its token', async () => {
    const other = createToken(directory);
    const more = { ...other.settings, SOFTHSM2_CONF: other.environment.SOFTHSM2_CONF, ...(await freePortBeside()) };
    const { code, detail } = await held(more);
    expect(code).toBe('log.no-token');
    expect(detail).toContain('Restore the token from its backup');
  });
});

/** Returns settings with another port but the same public address, from which the log's name is derived. */
async function freePortBeside(): Promise<Record<string, string>> {
  const { SVC_PORT = '0' } = await atKnownAddress();
  url = `http://127.0.0.1:${SVC_PORT}`;
  return { SVC_PORT, SVC_ALLOWED_HOSTS: '127.0.0.1' };
}
