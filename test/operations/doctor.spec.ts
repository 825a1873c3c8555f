import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { inDays } from '../support/access.js';
import { runToEnd } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warn' | 'bad';
  readonly detail: string;
  readonly next?: string;
}

let stage: Stage;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
});
afterAll(() => stage.close());

/** Runs `doctor --json`. Exit code 1 is a valid result. */
async function doctor(settings: Record<string, string> = {}): Promise<{ code: number; findings: Finding[] }> {
  const cli = join(import.meta.dirname, '../../dist/cli.js');
  const env = { ...process.env, ...stage.settings, ...settings };
  const run = promisify(execFile)(process.execPath, [cli, 'doctor', '--json'], { env, timeout: 120_000 });
  const { code, stdout } = await run.then(
    ({ stdout: out }) => ({ code: 0, stdout: out }),
    (error: { code: number; stdout: string }) => error,
  );
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

/** Runs `backup` and returns the output, whether the command succeeds or fails. */
async function backup(...args: string[]): Promise<string> {
  return runToEnd(['backup', ...args], stage.settings, { timeoutMs: 60_000 }).catch(
    ({ stderr }: { stderr: string }) => stderr,
  );
}

/** Opens a database session with the given application name. */
async function connected(name: string): Promise<Client> {
  const client = new Client({ connectionString: stage.databaseUrl, application_name: name });
  await client.connect();
  return client;
}

const states = (findings: readonly Finding[]) => Object.fromEntries(findings.map(({ what, state }) => [what, state]));

describe('doctor', () => {
  it('finds nothing bad in a healthy installation', async () => {
    const service = await stage.start();
    await sign(service, { key: apiKey, body: { digest: digestOf('x'), algorithm: 'sha256' } });
    await until('nothing waits', 45, async () => {
      const rows = await stage.sql('SELECT 1 FROM log_waiting');
      return rows.length === 0;
    });
    const { code, findings } = await doctor();
    expect(findings.filter(({ state }) => state === 'bad')).toEqual([]);
    expect(code).toBe(0);
    expect(states(findings)).toMatchObject({
      database: 'ok',
      token: 'ok',
      'database and token': 'ok',
      Redis: 'ok',
      workers: 'ok',
      api: 'ok',
      clocks: 'ok',
      'queue signing': 'ok',
      checkpoint: 'ok',
      'stored secrets': 'ok',
    });
    await service.kill('SIGTERM');
  });

  it('reports permissions without effect, and limits that no signing key matches', async () => {
    const service = await stage.start();
    const make = async (keys: string[]): Promise<string> => {
      const body = { name: keys.join(' '), permissions: ['sign:digest'], expiry: inDays(1), keys };
      return (await service.call('POST', '/api/settings/api-keys', { key: apiKey, body })).body.id;
    };
    const limits = async () => (await doctor()).findings.filter(({ what }) => what === 'limits of credentials');
    await make(['default', 'demo-*']);
    expect(await limits()).toMatchObject([{ state: 'ok' }]);
    const id = await make(['default', 'lost-*', 'gone']);
    const voter = `UPDATE api_key SET permissions = '{sign:digest,approvals:approve}' WHERE id = $1`;
    await stage.change(voter, [id]);
    const name = 'default lost-* gone';
    expect(await limits()).toMatchObject([
      { state: 'warn', detail: `the API key "${name}" has approvals:approve, which only people can use` },
      { state: 'warn', detail: `no signing key matches lost-*, gone in the limits of the API key "${name}"` },
    ]);
    await service.kill('SIGTERM');
  });

  it('reports migrations that were removed under a running process', async () => {
    const service = await stage.start();
    const [row] = await stage.sql<{ id: number; timestamp: string; name: string }>(
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING *',
    );
    const schema = await until('the health names it', 10, async () => {
      const { body } = await service.call('GET', '/actuator/health', { key: apiKey });
      return body.components.schema?.status === 'DOWN' && body.components.schema;
    });
    expect(schema.details.detail).toMatch(/^migrations of this version that are not recorded as applied: 1\. /);
    // Backups precede migrations, so an older schema does not prevent a backup.
    const refused = await backup('--out', '/proc/backups');
    expect(refused).toContain('Cannot write a backup to /proc/backups: ENOENT');
    await stage.sql('INSERT INTO migrations (id, timestamp, name) VALUES ($1, $2, $3)', [
      row?.id,
      row?.timestamp,
      row?.name,
    ]);
    await service.kill('SIGTERM');
  });

  it('reports the age of the last backup and why the last attempt failed', async () => {
    expect((await doctor()).findings.find(({ what }) => what === 'backup')).toMatchObject({
      state: 'bad',
      detail: expect.stringContaining(
        'no backup has been recorded; the last attempt failed: Cannot write a backup to /proc',
      ),
      next: 'runbook: backup',
    });
    const madeAt = new Date(Date.now() - 3 * 3600_000).toISOString();
    expect(await backup('record', '--made-at', madeAt)).toContain(`Recorded a backup of ${madeAt}.`);
    expect(await backup('record', '--made-at', '2999-01-01T00:00:00Z')).toContain(
      '--made-at must be a time in the past',
    );
    const found = (await doctor()).findings.find(({ what }) => what === 'backup');
    expect(found).toMatchObject({ state: 'ok', detail: 'the last successful backup is 3 h old' });
  });

  it('reports what is missing, and the next step', async () => {
    const { code, findings } = await doctor();
    expect(code).toBe(1);
    const bad = findings.filter(({ state }) => state === 'bad');
    expect(bad.map(({ what }) => what)).toEqual(['workers', 'api']);
    expect(bad.every(({ next }) => next?.startsWith('runbook: ') === true)).toBe(true);
  });

  it('names the session that blocks others on a lock', async () => {
    const [holder, waiter] = await Promise.all([connected('a forgotten session'), connected('one that waits for it')]);
    await holder.query('SET idle_in_transaction_session_timeout = 0; BEGIN; SELECT 1 FROM api_key FOR UPDATE');
    const waiting = waiter.query('SELECT 1 FROM api_key FOR UPDATE');
    await sleep(3000);
    const { code, findings } = await doctor();
    await holder.query('ROLLBACK');
    await waiting;
    await Promise.all([holder.end(), waiter.end()]);
    expect(code).toBe(1);
    expect(findings.find(({ what }) => what === 'locks')).toMatchObject({
      state: 'bad',
      detail: expect.stringMatching(/a forgotten session \(pid \d+\) blocks \d+/),
      next: 'runbook: transactions',
    });
    expect((await doctor()).findings.find(({ what }) => what === 'locks')?.state).toBe('ok');
  });

  it('reports a single finding if the database does not respond', async () => {
    const closed = `postgresql://nobody@127.0.0.1:${await freePort()}/none`;
    const { code, findings } = await doctor({ SVC_DATABASE_URL: closed });
    expect(code).toBe(1);
    expect(findings).toEqual([expect.objectContaining({ what: 'database', state: 'bad', next: 'runbook: database' })]);
    expect(findings[0]?.detail).toContain('ECONNREFUSED');
  });

  it('only warns about an unavailable Redis, because nothing is lost', async () => {
    const { findings } = await doctor({ SVC_REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(states(findings)).toMatchObject({ Redis: 'warn', database: 'ok' });
  });

  it('detects a token that rejects the PIN', async () => {
    const { findings } = await doctor({ SVC_PKCS11_PIN_FILE: '/dev/null' });
    expect(states(findings)).toMatchObject({ token: 'bad' });
  });
});
