import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { has } from '../support/peers.js';
import { runToEnd } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

let stage: Stage;
let apiKey: string;
let directory: string;
const poolers: ChildProcess[] = [];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  directory = mkdtempSync(join(tmpdir(), 'sealwright-pooler-'));
});
afterAll(async () => {
  for (const child of poolers) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await stage.close();
  rmSync(directory, { recursive: true });
});

/** Starts pgbouncer in front of the stage's database. Returns pgbouncer's database URL. */
async function pooler(mode: 'session' | 'transaction'): Promise<string> {
  const port = await freePort();
  const { hostname, port: server, username, password, pathname } = new URL(stage.databaseUrl);
  const database = pathname.slice(1);
  const login = `user=${username}${password === '' ? '' : ` password=${password}`}`;
  const file = join(directory, `${mode}.ini`);
  writeFileSync(
    file,
    [
      '[databases]',
      `${database} = host=${hostname} port=${server} ${login}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'auth_type = any',
      'unix_socket_dir =',
      `pool_mode = ${mode}`,
      'default_pool_size = 60',
    ].join('\n'),
  );
  // Runs pgbouncer as the user `nobody`, because pgbouncer refuses to run as root.
  const child = spawn('pgbouncer', ['-q', '-u', 'nobody', file], { stdio: 'ignore' });
  poolers.push(child);
  return `postgresql://${username}@127.0.0.1:${port}/${database}`;
}

describe.skipIf(!has('pgbouncer'))('behind pgbouncer', () => {
  it('in session mode the service works', async () => {
    const url = await pooler('session');
    const service = await stage.start({ settings: { SVC_DATABASE_URL: url } });
    const { status, body } = await sign(service, {
      key: apiKey,
      body: { digest: digestOf('x'), algorithm: 'sha256', async: true },
    });
    expect(status).toBe(202);
    await until('a worker signed it', 30, async () => {
      const { body: request } = await service.call('GET', `/api/v1/sign/requests/${body.requestId}`, { key: apiKey });
      return request.status === 'SIGNED';
    });
    expect(await runToEnd(['migrate'], { ...stage.settings, SVC_DATABASE_URL: url })).toContain('up to date');
    await service.kill();
  });

  it('in transaction mode the service refuses to start, and reports why', async () => {
    const url = await pooler('transaction');
    const refused = await stage.start({ settings: { SVC_DATABASE_URL: url } }).catch((error: Error) => error.message);
    expect(refused).toContain('does not preserve sessions (PgBouncer with pool_mode=transaction or statement)');
    expect(refused).toContain('Set pool_mode=session');
  });
});

describe('with several hosts', () => {
  it('the responsive one is used, wherever it is in the list', async () => {
    const { host, username, password, pathname } = new URL(stage.databaseUrl);
    const login = password === '' ? username : `${username}:${password}`;
    const closed = `127.0.0.1:${await freePort()}`;
    const service = await stage.start({
      settings: { SVC_DATABASE_URL: `postgresql://${login}@${closed},${host}${pathname}` },
    });
    expect((await sign(service, { key: apiKey, body: { digest: digestOf('y'), algorithm: 'sha256' } })).status).toBe(
      200,
    );
    await service.kill();
  });
});
