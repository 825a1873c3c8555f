import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DroppingProxy } from '../fakes/dropping-proxy.js';
import { has } from '../support/peers.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, type Sshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';
import { makeTree, type ScannedTree } from './scanned-tree.js';
import { registerSensor, type RegisteredSensor } from './sensor-calls.js';

const PROGRAM = join(import.meta.dirname, '../../dist/sealwright.js');
const directory = mkdtempSync(join(tmpdir(), 'sealwright-sensor-'));
const root = join(directory, 'machine');
let stage: Stage;
let service: Service;
let key: string;
let sensor: RegisteredSensor;
let proxy: DroppingProxy;
let tree: ScannedTree;
let tls: Server;
let sshd: Sshd | undefined;

beforeAll(async () => {
  tree = makeTree(root);
  writeFileSync(join(directory, 'passwords'), tree.passwords);
  stage = await openStage();
  ({ apiKey: key } = await stage.seed());
  service = await stage.start({ role: 'api' });
  sensor = await registerSensor(service, key, { heartbeatSeconds: 3600 });
  proxy = new DroppingProxy(service.url);
  await proxy.start();
  const pem = (name: string) => readFileSync(join(root, 'etc/pki', name));
  tls = createServer({ key: pem('shop.key'), cert: pem('shop.pem'), minVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES256-GCM-SHA384:AES128-SHA:TLS_AES_256_GCM_SHA384' }); // prettier-ignore
  tls.listen(0, '127.0.0.1');
  await once(tls, 'listening');
  if (canRunSshd()) sshd = await startSshd({ hostKeys: ['ed25519', 'rsa'] });
});
afterAll(async () => {
  tls.close();
  await sshd?.close();
  await proxy.stop();
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly err: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- what the program prints
  readonly scans: any[];
}

const begin = (args: string[]): ChildProcess => {
  const env = { PATH: process.env['PATH'], HOME: directory, SEALWRIGHT_URL: proxy.url, SEALWRIGHT_TOKEN: sensor.key };
  return spawn(process.execPath, [PROGRAM, 'sensor', ...args, '--source', 'web1', '-o', 'json'], {
    env,
    stdio: 'pipe',
  });
};
const run = async (...args: string[]): Promise<Ended> => {
  const child = begin(args);
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, err, scans: out === '' ? [] : JSON.parse(out) };
};
const found = async (more = '') => {
  const rows = await stage.sql<{ kind: string; name: string; rule: string | null; location: string; state: string }>(
    `SELECT a.kind, a.name, a.rule, a.state, replace(o.location, $1, '') AS location FROM judged_asset a JOIN asset_occurrence o ON o.asset_id = a.id ${more} ORDER BY 1, 2, 4`,
    [`web1:${root}/`],
  );
  return rows;
};
/** Returns a hash of all data that a push may change, except the time when a source was last seen. */
const content = async () => {
  const [row] = await stage.sql<{ hash: string }>(
    `SELECT md5(string_agg(t, ',' ORDER BY t)) AS hash FROM (
       SELECT a::text AS t FROM asset a UNION ALL SELECT r::text FROM asset_relationship r
       UNION ALL SELECT concat(asset_id, source_id, id, location, line, missed) FROM asset_occurrence) everything`,
  );
  return row?.hash;
};
const targets = () => {
  const { port } = tls.address() as AddressInfo;
  return [root, `tls://127.0.0.1:${port}`, ...(sshd === undefined ? [] : [`ssh://${sshd.address}:${sshd.port}`])];
};
const passwords = ['--store-passwords', join(directory, 'passwords')];

describe.runIf(has('keytool'))('sealwright sensor', () => {
  it('finds assets in a directory tree and at endpoints', async () => {
    const ended = await run(...targets(), ...passwords);
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.scans).toMatchObject([{ ok: true, rejected: 0, refused: 0 }]);
    const rows = await found();
    const at = (location: string) => [...new Set(rows.filter((row) => row.location === location).map(({ kind, name }) => `${kind} ${name}`))].sort(); // prettier-ignore
    expect(at('etc/pki/shop.pem')).toContain('certificate shop.corp.example');
    expect(at('etc/pki/shop.p12')).toEqual(expect.arrayContaining(['certificate shop.corp.example', 'algorithm PBES2-HMAC-SHA256-AES-256-CBC'])); // prettier-ignore
    expect(at('etc/pki/legacy.jks')).toEqual(expect.arrayContaining(['certificate legacy.corp.example', 'related-crypto-material legacy'])); // prettier-ignore
    expect(at('etc/pki/ec.der')).toContain('certificate der.corp.example');
    for (const file of [
      'etc/pki/shop.key',
      'etc/pki/ec.key',
      'etc/pki/sealed.key',
      'home/ada/.ssh/id_ed25519',
      'home/ada/.ssh/id_rsa',
    ])
      expect(at(file)).toEqual([expect.stringMatching(/^related-crypto-material (private key|shop)/)]);
    expect(at('home/ada/.ssh/authorized_keys')).toEqual(['related-crypto-material ada@laptop']);
    expect(at('etc/nginx/nginx.conf')).toEqual(['protocol TLS', 'protocol TLS 1.0', 'protocol TLS 1.2']);
    expect(at('etc/ssh/sshd_config')).toEqual(['algorithm 3des-cbc', 'algorithm aes256-gcm@openssh.com', 'algorithm diffie-hellman-group1-sha1']); // prettier-ignore
    expect(at('etc/openssl.cnf')).toEqual(['algorithm RSA-1024', 'algorithm SHA1', 'protocol TLS 1.1']);
    const calls = { 'App.java': 'DES-ECB-PKCS5Padding', 'lib/sums.py': 'MD5', 'lib/sums.go': 'SHA1', 'lib/seal.c': 'RC4', 'lib/Seal.cs': '3DES', 'lib/seal.php': 'BF-CBC', 'lib/seal.rb': 'SHA256', 'lib/seal.rs': 'SHA512' }; // prettier-ignore
    for (const [file, name] of Object.entries(calls)) expect(at(`src/${file}`)).toEqual([`algorithm ${name}`]);
    expect(at('src/lib/seal.js')).toEqual(['algorithm AES-128-CBC', 'algorithm RSA-1024']);
    expect(at(targets()[1]!)).toEqual(expect.arrayContaining(['certificate shop.corp.example', 'protocol TLS 1.2', 'protocol TLS 1.3'])); // prettier-ignore
    const served = sshd === undefined ? [] : ['protocol SSH', 'algorithm curve25519-sha256'];
    expect(at(targets()[2] ?? '')).toEqual(expect.arrayContaining(served));
  });

  it('reports them to assets, analytics and the CBOM export, and sends no secret', async () => {
    const get = async (path: string) => (await service.call('GET', path, { key })).body;
    const [row] = await stage.sql<{ count: number }>(`SELECT count(*)::int AS count FROM asset`);
    const page = await get('/api/assets?family=RSA&kind=certificate&q=location%3D"*legacy.jks"');
    expect(page.items).toMatchObject([{ name: 'legacy.corp.example', bits: 1024 }]);
    expect((await get('/api/analytics/summary')).total).toBe(row?.count);
    const exported = JSON.stringify(await get('/api/export/cyclonedx'));
    expect(exported).toContain(`web1:${root}/src/lib/sums.py`);
    expect(exported).toContain('legacy.corp.example');
    const sent = proxy.calls.map(({ body }) => body).join('\n');
    expect(sent.length).toBeGreaterThan(10_000);
    for (const secret of tree.secrets) expect(sent).not.toContain(secret);
    expect((await get(`/api/sensors/${sensor.id}`)).lastScanAssets).toBeGreaterThan(40);
  });

  it('changes nothing when it pushes the same again, and reports what was removed', async () => {
    const before = await content();
    const again = await run(...targets(), ...passwords);
    expect(again.scans).toMatchObject([{ created: 0, updated: 0, rejected: 0 }]);
    expect(await content()).toBe(before);
    rmSync(join(root, 'etc/pki/legacy.jks'));
    await run(...targets(), ...passwords);
    expect(await found(`WHERE a.name = 'legacy.corp.example'`)).toMatchObject([{ state: 'stale' }]);
  });
});

it('a sensor delivers everything once if its connection is lost or it is killed mid-way', async () => {
  const files = 250;
  const lines = 20;
  const big = join(directory, 'big');
  for (let file = 0; file < files; file += 1) {
    const text = Array.from({ length: lines }, (_, i) => `x${i} = hashlib.sha224(b"${i}")\n`).join('');
    writeTo(big, `m${file}.py`, text);
  }
  const pushes = () => proxy.calls.filter(({ path }) => path === '/api/ingest');
  proxy.calls.length = 0;
  // The first call is lost, the response to the second call is not delivered, and the sensor is killed during the fourth call.
  const fates = ['lose', 'mute', 'pass', 'hang'] as const;
  proxy.fate = ({ path }, earlier) => (path === '/api/ingest' ? (fates[earlier] ?? 'hang') : 'pass');
  const victim = begin([big]);
  await until('a push that hangs', 30, async () => pushes().length >= 4);
  victim.kill('SIGKILL');
  await once(victim, 'close');
  proxy.fate = () => 'pass';
  const ended = await run(big);
  expect(ended.code).toBe(0);
  expect(ended.scans.map(({ ok }) => ok)).toEqual([true, true]);
  // The sensor sends the remaining batches of the first scan, and then a second scan with the same findings.
  expect(ended.scans[1]).toMatchObject({ created: 0, updated: 0 });
  const rows = await stage.sql<{ places: number; distinct: number; missed: number }>(
    `SELECT count(*)::int AS places, count(DISTINCT (location, line))::int AS distinct, sum(missed)::int AS missed FROM asset_occurrence WHERE location LIKE $1`,
    [`web1:${big}/%`],
  );
  expect(rows).toEqual([{ places: files * lines, distinct: files * lines, missed: 0 }]);
  // Each batch of the first scan has one log entry, no matter how often the batch was sent. The second scan found no changes.
  const entries = await stage.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM audit_entry WHERE action = 'inventory.ingested' AND detail->>'source' LIKE $1`,
    [`web1:${big}%`],
  );
  const batches = new Set(pushes().map(({ key: batch }) => batch));
  expect(entries).toEqual([{ count: batches.size / 2 }]);
  expect(pushes().length).toBeGreaterThan(batches.size);
});

it('a sensor scans when the service requests it, with the settings of the command', async () => {
  const schedule = await service.call('POST', '/api/schedules', {
    key,
    body: {
      name: 'nightly',
      intervalSeconds: 3600,
      target: 'sensor-scan',
      settings: { sensor: sensor.id, paths: [join(root, 'src')] },
    },
  });
  await service.call('POST', `/api/schedules/${schedule.body.id}/run`, { key });
  const worker = await stage.start({ role: 'worker' });
  await until('a command', 30, async () => (await stage.sql(`SELECT 1 FROM sensor_command`)).length > 0);
  await worker.kill();
  const staying = begin(['--stay']);
  const ended = await until('the end of the run', 30, async () => {
    const { body } = await service.call('GET', `/api/schedules/${schedule.body.id}/runs`, { key });
    return body.items.find(({ status }: { status: string }) => status !== 'DUE' && status !== 'RUNNING');
  });
  expect(ended).toMatchObject({ status: 'SUCCEEDED', detail: expect.stringMatching(/^\d+ assets$/) });
  expect(staying.exitCode).toBeNull();
  // A second sensor with the same spool is refused.
  expect(await run(root)).toMatchObject({ code: 1, err: expect.stringContaining('is using this spool') });
  staying.kill('SIGKILL');
  await once(staying, 'close');
});

it.each([
  [['/nowhere/at/all'], 1, ''],
  [['tls://127.0.0.1:9'], 1, ''],
  [['ftp://x:y'], 1, ''],
  [[], 2, 'Nothing to scan'],
])('sealwright sensor %j exits with %i', async (args, code, err) => {
  const ended = await run(...args);
  expect(ended.code).toBe(code);
  expect(ended.err).toContain(err);
});

function writeTo(into: string, name: string, text: string): void {
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, name), text);
}
