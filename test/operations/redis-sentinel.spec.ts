import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import type { Service } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** A master, a replica and a sentinel that promotes the replica when the master fails. */
let stage: Stage;
let apiKey: string;
let service: Service;
let directory: string;
let ports: { master: number; replica: number; sentinel: number };
const servers: Record<string, ChildProcess> = {};

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  directory = mkdtempSync(join(tmpdir(), 'sealwright-sentinel-'));
  ports = { master: await freePort(), replica: await freePort(), sentinel: await freePort() };
  start('master', [`port ${ports.master}`]);
  start('replica', [`port ${ports.replica}`, `replicaof 127.0.0.1 ${ports.master}`]);
  await until('the replica follows', 20, () => replicates());
  start('sentinel', [
    `port ${ports.sentinel}`,
    `sentinel monitor main 127.0.0.1 ${ports.master} 1`,
    'sentinel down-after-milliseconds main 1000',
    'sentinel failover-timeout main 5000',
  ]);
  await until('the sentinel knows the replica', 20, async () => (await ask('sentinel', 'replicas')).length > 0);
  service = await stage.start({
    settings: { SVC_REDIS_URL: `redis+sentinel://127.0.0.1:${ports.sentinel}/main` },
  });
});
afterAll(async () => {
  await stage.close();
  for (const server of Object.values(servers)) {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  }
  rmSync(directory, { recursive: true });
});

function start(name: string, lines: string[]): void {
  const file = join(directory, `${name}.conf`);
  writeFileSync(
    file,
    ['bind 127.0.0.1', 'save ""', `dir ${directory}`, 'maxmemory-policy noeviction', ...lines].join('\n'),
  );
  const mode = name === 'sentinel' ? ['--sentinel'] : [];
  if (name === 'sentinel') writeFileSync(file, ['bind 127.0.0.1', `dir ${directory}`, ...lines].join('\n'));
  servers[name] = spawn('redis-server', [file, ...mode], { stdio: 'ignore' });
}

async function ask(server: keyof typeof ports, what: 'replicas' | 'role'): Promise<unknown[]> {
  const client = new Redis({ host: '127.0.0.1', port: ports[server], lazyConnect: true, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await (what === 'role' ? client.role() : client.call('SENTINEL', 'replicas', 'main'))) as unknown[];
  } catch {
    return [];
  } finally {
    client.disconnect();
  }
}

async function replicates(): Promise<boolean> {
  const [, , , state] = await ask('replica', 'role');
  return state === 'connected';
}

const queued = async (content: string) => {
  const { status, body } = await sign(service, {
    key: apiKey,
    body: { digest: digestOf(content), algorithm: 'sha256', async: true },
  });
  expect(status).toBe(202);
  return body.requestId as string;
};
const signed = (id: string) =>
  until('it is signed', 30, async () => {
    const { body } = await service.call('GET', `/api/v1/sign/requests/${id}`, { key: apiKey });
    return body.status === 'SIGNED';
  });

it('with Sentinel, the service follows the master and loses nothing on a failover', async () => {
  await signed(await queued('before'));
  servers['master']?.kill('SIGKILL');
  const during = await queued('during');
  const began = performance.now();
  await until('the replica is the master', 30, async () => (await ask('replica', 'role'))[0] === 'master');
  await until('the service uses it', 30, async () => {
    const { body } = await service.call('GET', '/actuator/health', { key: apiKey });
    return body.components.redis.status === 'UP';
  });
  console.info(`Redis is used again ${Math.round(performance.now() - began)} ms after its master died`);
  await signed(during);
  await signed(await queued('after'));
});
