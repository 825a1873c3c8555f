import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, fingerprintOfLine, newClientKey, type Sshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const SETTINGS = { SVC_ALLOW_LOOPBACK: 'yes' };
let stage: Stage;
let service: Service;
let apiKey: string;
const servers: Server[] = [];

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ settings: SETTINGS });
});
afterAll(async () => {
  await stage.close();
  for (const server of servers) server.close();
});

const call = (method: string, path: string, body?: unknown, key = apiKey): Promise<Answer> =>
  service.call(method, path, { key, body });

async function newScope(networks: string[], ports: number[], names: string[] = []): Promise<string> {
  const { body } = await call('POST', '/v1/scan-scopes', { name: `scope ${Math.random()}`, networks, names, ports });
  return body.id;
}

async function scanned(id: string, seconds = 25): Promise<Answer['body']> {
  for (let i = 0; i < seconds * 10; i += 1) {
    const { body } = await call('GET', `/v1/scans/${id}`);
    if (!['QUEUED', 'RUNNING'].includes(body.status)) return body;
    await sleep(100);
  }
  throw new Error('the scan does not end');
}

async function scan(scopeId: string, targets?: string[], kind = 'ssh-network'): Promise<Answer['body'][]> {
  const ordered = await call('POST', '/v1/scans', { kind, scopeId, targets });
  expect(ordered.status).toBe(202);
  expect(ordered.headers.get('location')).toBe(`/v1/scans/${ordered.body.id}`);
  const done = await scanned(ordered.body.id);
  expect(done).toMatchObject({ status: 'DONE', cursor: done.total, progress: { percent: 100, pending: 0 } });
  return (await call('GET', `/v1/scans/${ordered.body.id}/results?limit=200`)).body.items;
}

/**
 * Starts a server that listens on all loopback addresses and records the called addresses and the sockets that received data. A sweep only connects and sends
 * no data.
 */
async function everywhere(
  act: (end: () => void) => void,
): Promise<{ port: number; called: string[]; told: Set<Socket> }> {
  const called: string[] = [];
  const told = new Set<Socket>();
  const server = createServer((socket) => {
    called.push(socket.localAddress ?? '');
    socket.on('error', () => undefined);
    socket.once('data', () => {
      told.add(socket);
      socket.destroy();
    });
    act(() => socket.destroy());
  });
  servers.push(server);
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, called, told };
}

describe('a scan scope', () => {
  it.each([
    ['169.254.0.0/16', 'network.denied'],
    ['0.0.0.0/0', 'network.denied'],
    ['::ffff:169.254.169.0/120', 'network.denied'],
    ['64:ff9b::a9fe:a9fe/128', 'network.denied'],
    ['192.0.2.1/24', 'network.spelling'],
    ['10.1/16', 'network.spelling'],
  ])('cannot contain %s', async (network, code) => {
    const body = { name: network, networks: [network], ports: [22] };
    assertProblem(await call('POST', '/v1/scan-scopes', body), { status: 403, code, pointer: '/networks/0' });
  });

  it('can be created by administrators only', async () => {
    const { key } = await newApiKey(service, apiKey, ['discovery:run']);
    const body = { name: 'mine', networks: ['192.0.2.0/24'], ports: [22] };
    assertProblem(await call('POST', '/v1/scan-scopes', body, key), { status: 403, code: 'insufficient_scope' });
  });

  it('cannot be escaped by any spelling, and nothing is sent', async () => {
    const { port, called } = await everywhere((end) => end());
    const scopeId = await newScope(['127.31.0.0/24'], [port], ['example.test', 'localhost']);
    const spellings = [
      '127.0.0.1',
      '127.1',
      '127.31.1.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '017700000001',
      '0177.0.0.1',
      '127.0.0.01',
      '127.31.0.1.',
      '127.031.0.1',
      '127.31.0.1%00',
      '::1',
      '[::1]',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '0:0:0:0:0:ffff:7f00:1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      '2001:0:4136:e378:8000:63bf:80ff:fffe',
      'fe80::1%eth0',
      'fe80::1',
      '0.0.0.0',
      '0',
      '169.254.169.254',
      '::ffff:a9fe:a9fe',
      '100.100.100.200',
      'fd00:ec2::254',
      'localhost',
      'localhost.',
      'LOCALHOST',
      'evil.example',
      'xexample.test',
      'example.test.evil',
      'user@127.31.0.1',
      'http://127.31.0.1',
      '127.31.0.1:22',
      '１２７.31.0.1',
      '127.31.0.0/23',
      '127.0.0.0/8',
      '127.31.0.1/24',
      '0.0.0.0/0',
      '::/0',
      '224.0.0.1',
      '255.255.255.255',
    ];
    for (const target of spellings) {
      const answer = await call('POST', '/v1/scans', { kind: 'ssh-network', scopeId, targets: [target] });
      expect({ target, status: answer.status }).toEqual({ target, status: 403 });
    }
    assertProblem(await call('POST', '/v1/scans', { kind: 'ssh-network', scopeId, ports: [1] }), {
      status: 403,
      code: 'scan.outside-scope',
      pointer: '/ports/0',
    });
    expect(await stage.sql('SELECT id FROM scan')).toEqual([]);
    expect(called).toEqual([]);
  });
});

describe.runIf(canRunSshd())('an SSH scan', () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd({ hostKeys: ['ed25519', 'ecdsa', 'rsa'] });
  });
  afterAll(() => sshd.close());

  it('finds the host, its algorithms and its keys; ten in a row cost four connections, and a login still succeeds', async () => {
    const scopeId = await newScope([`${sshd.address}/32`], [sshd.port]);
    const before = sshd.log().length;
    const [found] = await scan(scopeId);
    expect(found).toMatchObject({ outcome: 'FOUND', address: sshd.address, protocol: 'ssh', reused: false });
    expect(found.facts.version).toMatch(/^SSH-2.0-OpenSSH/);
    const { body: host } = await call('GET', `/v1/hosts/${found.hostId}`);
    expect(host).toMatchObject({
      address: sshd.address,
      port: sshd.port,
      managementMode: 'inventory-only',
      reachability: 'reachable',
    });
    const { body: keys } = await call('GET', `/v1/hosts/${found.hostId}/host-keys`);
    expect(keys.items.map(({ fingerprint }: { fingerprint: string }) => fingerprint)).toEqual(
      (['ed25519', 'ecdsa', 'rsa'] as const).map((kind) => fingerprintOfLine(sshd.hostKey(kind))),
    );
    expect(keys.items[0]).toMatchObject({ state: 'tofu-pending', possession: 'proven' });
    for (let i = 0; i < 9; i += 1)
      expect(await scan(scopeId)).toMatchObject([{ outcome: 'FOUND', reused: true, hostId: found.hostId }]);
    expect(
      sshd
        .log()
        .slice(before)
        .match(/Connection from/g)?.length,
    ).toBeLessThanOrEqual(4);
    const login = newClientKey(sshd.directory, 'after');
    sshd.authorize('deploy', login.publicKey);
    await call('POST', `/v1/hosts/${host.id}/host-keys/${keys.items[0].id}/accept`);
    const credential = { user: 'deploy', privateKey: login.privateKey };
    await service.call('PATCH', `/v1/hosts/${host.id}`, {
      key: apiKey,
      body: { credential },
      headers: { 'if-match': '"1"' },
    });
    expect((await call('POST', `/v1/hosts/${host.id}/test-connection`)).body).toMatchObject({ ok: true });
  });

  it('reports a replaced key once', async () => {
    const scopeId = await newScope([`${sshd.address}/32`], [sshd.port]);
    const changes = () => stage.sql(`SELECT 1 FROM audit_entry WHERE action = 'host-key.changed'`);
    const before = (await changes()).length;
    // Simulates that the host presented other keys before, so that none of its current keys is known.
    await stage.sql(`UPDATE host_key SET blob = blob || '\\x00', fingerprint = fingerprint || 'x'`);
    await stage.sql(`DELETE FROM probe_window`);
    const [found] = await scan(scopeId);
    const { body: keys } = await call('GET', `/v1/hosts/${found.hostId}/host-keys`);
    const shown = keys.items.filter(({ fingerprint }: { fingerprint: string }) => !fingerprint.endsWith('x'));
    expect(shown.map(({ state }: { state: string }) => state)).toEqual(['changed', 'changed', 'changed']);
    expect((await changes()).length - before).toBe(3);
  });

  it('passes the keys to the inventory', async () => {
    let names: string[] = [];
    for (let i = 0; i < 100 && names.length === 0; i += 1) {
      const { body } = await call('GET', '/api/assets?kind=protocol');
      names = body.items.map(({ name }: { name: string }) => name);
      await sleep(100);
    }
    expect(names).toContain('SSH');
    const { body } = await call('GET', '/api/assets?kind=related-crypto-material');
    expect(body.items.length).toBeGreaterThanOrEqual(3);
  });
});

it('a killed scan resumes in another process, repeating at most the open window', async () => {
  const { port, called, told } = await everywhere((end) => setTimeout(end, 1000));
  const scopeId = await newScope(['127.64.0.0/18'], [port]);
  await service.kill('SIGKILL');
  const api = await stage.start({ role: 'api', settings: SETTINGS });
  service = api;
  const { body } = await call('POST', '/v1/scans', { kind: 'tls-network', scopeId });
  const cursor = async (): Promise<number> => {
    const [row] = await stage.sql<{ cursor: number }>('SELECT cursor FROM scan WHERE id = $1', [body.id]);
    return row?.cursor ?? 0;
  };
  const passes = (position: number) => until(`probes up to ${position}`, 45, async () => (await cursor()) >= position);
  const first = await stage.start({ role: 'worker', settings: SETTINGS });
  onTestFailed(async () => void (await first.kill('SIGKILL')));
  await passes(2000);
  await first.kill('SIGKILL');
  const half = await cursor();
  expect(half).toBeLessThan(14_000);
  // The dead worker's lease lasts half a minute, so the test ends the lease early.
  await stage.sql('UPDATE scan SET sweep_at = now() WHERE id = $1', [body.id]);
  const second = await stage.start({ role: 'worker', settings: SETTINGS });
  onTestFailed(async () => void (await second.kill('SIGKILL')));
  await passes(half + 1000);
  await call('POST', `/v1/scans/${body.id}/cancel`);
  assertProblem(await call('POST', `/v1/scans/${body.id}/cancel`), { status: 409, code: 'scan.over' });
  expect(await scanned(body.id)).toMatchObject({ status: 'CANCELLED', attempts: 2 });
  expect(await cursor()).toBeGreaterThanOrEqual(half + 1000);
  // Hosts that were found are probed during the sweep. Probes are not counted, but a probe that was killed before its first byte was sent looks like a
  // connection of the sweep. A sweep that started over would repeat 2,000 or more connections.
  const again = called.length - told.size - new Set(called).size;
  expect(again).toBeLessThanOrEqual(600 + 200);
});

it('a scan waits while a worker runs four others', async () => {
  // A server that closes connections late keeps the scans running without load on this machine. A larger network would need more sockets than some machines
  // have, and a scan that runs out of sockets would allow the next scan to start.
  const { port } = await everywhere((end) => setTimeout(end, 3000));
  const scopeId = await newScope(['127.128.0.0/22'], [port]);
  const ids: string[] = [];
  for (let i = 0; i < 6; i += 1) ids.push((await call('POST', '/v1/scans', { kind: 'tls-network', scopeId })).body.id);
  const statuses = async (): Promise<string[]> => {
    const rows = await stage.sql<{ status: string }>('SELECT status FROM scan WHERE id = ANY($1) ORDER BY id', [ids]);
    return rows.map(({ status }) => status);
  };
  // A worker renews the lease of a running scan every five seconds. On a busy machine, a worker may fail to renew the lease; the scan then makes no progress
  // until the lease has expired.
  const live = async (): Promise<number> => {
    const [row] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int FROM scan WHERE id = ANY($1) AND status = 'RUNNING' AND sweep_at > now() + interval '20 seconds'`,
      [ids],
    );
    return row?.count ?? 0;
  };
  await expect.poll(live, { timeout: 30_000 }).toBe(4);
  await sleep(3000); // longer than the interval at which due scans are checked
  await expect.poll(live, { timeout: 45_000 }).toBe(4);
  await call('POST', `/v1/scans/${ids[0]}/cancel`);
  await expect.poll(async () => (await statuses())[4], { timeout: 30_000 }).toBe('RUNNING');
  for (const id of ids) await call('POST', `/v1/scans/${id}/cancel`);
});
