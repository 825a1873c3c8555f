import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inDays } from '../test/support/access.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';

/**
 * Sensors that push at the same time through one api process, each with a key of its own and assets of its own, while somebody reads.
 * Told: whether all is counted, the memory of the process, and the 95th percentile of reads beside that without load.
 */
const SENSORS = Number(process.env['BENCH_SENSORS'] ?? 500);
const ASSETS = Number(process.env['BENCH_ASSETS'] ?? 1000);
const QUIET_MS = 10_000;
const READ_EVERY_MS = 20;
const SAMPLE_MS = 500;
/** Reads that were not answered with 200. */
const refusals: string[] = [];
const READS = ['/api/assets?limit=50&sort=-level', '/api/sensors?limit=50', '/v1/hosts'];

let stage: Stage;
let service: Service;
let apiKey: string;

const say = (what: string, text: string) => console.log(`${what.padEnd(44)}${text}`);
const p95 = (list: number[]) => list.toSorted((a, b) => a - b)[Math.ceil(list.length * 0.95) - 1] ?? NaN;
const count = (number: number) => Math.round(number).toLocaleString('en');

/** What the sensor of a machine says: keys and certificates that only this machine has, and the algorithms that all have. */
function scan(sensor: number): string {
  const assets = Array.from({ length: ASSETS }, (_, i) => {
    const id = createHash('sha256').update(`${sensor} ${i}`).digest('hex');
    const occurrence = { location: `machine-${sensor}:/etc/ssl/${id.slice(0, 12)}.pem`, line: 1 };
    const facts = { type: 'public-key', id, state: 'active', size: 2048, algorithmRef: 'RSA-2048' };
    const cryptoProperties = { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts };
    return {
      component: { type: 'cryptographic-asset', 'bom-ref': id, name: `key ${id.slice(0, 12)}`, cryptoProperties },
      occurrence,
    };
  });
  const rsa = {
    type: 'cryptographic-asset',
    'bom-ref': 'RSA-2048',
    name: 'RSA-2048',
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'signature' } },
  };
  const body = { scanId: `scan-${sensor}`, source: `machine-${sensor}`, complete: true };
  return JSON.stringify({ ...body, assets: [{ component: rsa }, ...assets] });
}

async function register(sensor: number): Promise<string> {
  const body = { name: `machine ${sensor}`, kind: 'host', expiry: inDays(2) };
  const { status, body: answer } = await service.call('POST', '/api/sensors', { key: apiKey, body });
  if (status !== 201) throw new Error(JSON.stringify(answer));
  return answer.key as string;
}

/** As a sensor does: when the service is busy, again after as long as it says. Answers how often it was asked to wait. */
async function push(key: string, sensor: number): Promise<number> {
  const headers = { 'idempotency-key': `scan-${sensor}` };
  for (let waited = 0; ; waited += 1) {
    const answer = await service.call('POST', '/api/ingest', { key, headers, body: scan(sensor) });
    if (answer.status === 200) return waited;
    if (answer.status !== 429 && answer.status !== 503) throw new Error(JSON.stringify(answer.body));
    await sleep(Number(answer.headers.get('retry-after') ?? 1) * 1000);
  }
}

/** Reads one after the other, as people do, until `over`. Answers the milliseconds of each. */
async function reads(over: () => boolean): Promise<number[]> {
  const times: number[] = [];
  for (let turn = 0; !over(); turn += 1) {
    const began = performance.now();
    const { status, body } = await service.call('GET', READS[turn % READS.length] ?? '/', { key: apiKey });
    if (status !== 200) refusals.push(`${status} ${body.code}`);
    times.push(performance.now() - began);
    await sleep(READ_EVERY_MS);
  }
  return times;
}

const residentMb = () =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024;

async function measure(): Promise<void> {
  const keys: string[] = [];
  for (let sensor = 0; sensor < SENSORS; sensor += 1) keys.push(await register(sensor));
  await push(keys[0] ?? '', 0); // The thread that takes documents in is started, and there is something to read.
  const before = residentMb();
  const until = performance.now() + QUIET_MS;
  const quiet = await reads(() => performance.now() > until);

  const work = { over: false };
  let done = 0;
  const memory: { done: number; mb: number }[] = [];
  const sampler = (async () => {
    while (!work.over) {
      memory.push({ done, mb: residentMb() });
      await sleep(SAMPLE_MS);
    }
  })();
  const reader = reads(() => work.over);
  const began = performance.now();
  const waits = await Promise.all(
    keys.map(async (key, sensor) => {
      const waited = await push(key, sensor);
      done += 1;
      return waited;
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  work.over = true;
  const loaded = await reader;
  await sampler;
  await sleep(QUIET_MS);

  const { body: summary } = await service.call('GET', '/api/analytics/summary', { key: apiKey });
  const expected = SENSORS * ASSETS + 1;
  const [rows] = await stage.sql<{ assets: number; places: number }>(
    `SELECT (SELECT count(*)::int FROM asset) AS assets, (SELECT count(*)::int FROM asset_occurrence WHERE location <> '') AS places`,
  );
  const peakOf = (from: number, to: number) => Math.max(...memory.filter((one) => one.done >= from * SENSORS && one.done <= to * SENSORS).map(({ mb }) => mb)); // prettier-ignore
  say(
    'pushed',
    `${SENSORS} sensors × ${count(ASSETS)} assets in ${seconds.toFixed(1)} s: ${count((SENSORS * ASSETS) / seconds)}/s`,
  );
  say('asked to wait', `${waits.filter((waited) => waited > 0).length} sensors`);
  say(
    'counted',
    `${count(summary.total)} in analytics, ${count(rows?.assets ?? 0)} rows, ${count(rows?.places ?? 0)} places of ${count(expected - 1)}`,
  );
  say('memory of the process', `${before.toFixed(0)} MB before, peak ${peakOf(0, 1).toFixed(0)} MB, first half ${peakOf(0, 0.5).toFixed(0)}, second half ${peakOf(0.5, 1).toFixed(0)}, ${residentMb().toFixed(0)} MB after`); // prettier-ignore
  say('reads without load, p95', `${p95(quiet).toFixed(1)} ms of ${quiet.length}`);
  say(
    'reads under load, p95',
    `${p95(loaded).toFixed(1)} ms of ${loaded.length}: ${(p95(loaded) / p95(quiet)).toFixed(2)} times`,
  );
  say('reads that failed', `${refusals.length} ${[...new Set(refusals)].join(', ')}`);
  if (summary.total !== expected || rows?.assets !== expected) throw new Error('not all is counted');
}

Logger.overrideLogger(false);
stage = await openStage();
try {
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  await measure();
} finally {
  await stage.close();
}
