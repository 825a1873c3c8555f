import { Logger } from '@nestjs/common';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inDays } from '../test/support/access.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { type Fleet, type FleetMessage, scanOf } from './support/sensor-fleet.js';

/**
 * Sensors push concurrently through one api process, each with a separate key and separate assets, while another client reads. Reports the process's memory,
 * the read latency with and without load, and whether every asset was counted.
 */
const SENSORS = Number(process.env['BENCH_SENSORS'] ?? 500);
const ASSETS = Number(process.env['BENCH_ASSETS'] ?? 1000);
const QUIET_MS = 10_000;
const READ_EVERY_MS = 20;
const SAMPLE_MS = 500;
const READS = ['/api/assets?limit=50&sort=-level', '/api/sensors?limit=50', '/v1/hosts'];

let stage: Stage;
let service: Service;
let apiKey: string;

const say = (what: string, text: string) => console.log(`${what.padEnd(32)}${text}`);
const share = (list: number[], part: number) => list.toSorted((a, b) => a - b)[Math.ceil(list.length * part) - 1] ?? NaN; // prettier-ignore
const count = (number: number) => Math.round(number).toLocaleString('en');

async function register(sensor: number): Promise<string> {
  const body = { name: `machine ${sensor}`, kind: 'host', expiry: inDays(2) };
  const { status, body: answer } = await service.call('POST', '/api/sensors', { key: apiKey, body });
  if (status !== 201) throw new Error(JSON.stringify(answer));
  return answer.key as string;
}

interface Reading {
  readonly times: number[];
  /** Status and error code of each response whose status is not 200. */
  readonly refusals: string[];
}

/** Sends reads one after another until `over` returns true. */
async function reads(over: () => boolean): Promise<Reading> {
  const [times, refusals]: [number[], string[]] = [[], []];
  for (let turn = 0; !over(); turn += 1) {
    const began = performance.now();
    const { status, body } = await service.call('GET', READS[turn % READS.length] ?? '/', { key: apiKey });
    times.push(performance.now() - began);
    if (status !== 200) refusals.push(`${status} ${body.code}`);
    await sleep(READ_EVERY_MS);
  }
  return { times, refusals };
}

const residentMb = () =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1024;

interface Push {
  readonly seconds: number;
  readonly waits: number[];
  /** Memory of the process over time, with the number of sensors that had finished at each point. */
  readonly memory: { readonly done: number; readonly mb: number }[];
  readonly reading: Reading;
}

/** Runs all sensors concurrently in a separate process. */
async function pushAll(keys: string[]): Promise<Push> {
  const fleet: Fleet = { url: service.url, keys, assets: ASSETS };
  const child = fork(join(import.meta.dirname, 'support/sensor-fleet.ts'), {
    env: { ...process.env, BENCH_FLEET: JSON.stringify(fleet) },
  });
  const work = { over: false };
  const ended = once(child, 'exit').then(([code]) => {
    work.over = true;
    if (code !== 0) throw new Error('the sensors gave up');
  });
  await Promise.race([once(child, 'message'), ended]); // ready
  const waits: number[] = [];
  child.on('message', (message: FleetMessage) => ('waits' in message ? waits.push(message.waits) : undefined));
  const memory: Push['memory'] = [];
  const sampler = (async () => {
    for (; !work.over; await sleep(SAMPLE_MS)) memory.push({ done: waits.length, mb: residentMb() });
  })();
  const began = performance.now();
  child.send('go');
  const reader = reads(() => work.over);
  await ended;
  const seconds = (performance.now() - began) / 1000;
  await sampler;
  return { seconds, waits, memory, reading: await reader };
}

async function measure(): Promise<void> {
  const keys: string[] = [];
  for (let sensor = 0; sensor < SENSORS; sensor += 1) keys.push(await register(sensor));
  // Starts the import thread and creates data for the reads.
  const first = await service.call('POST', '/api/ingest', { key: keys[0], body: scanOf(0, ASSETS) });
  if (first.status !== 200) throw new Error(JSON.stringify(first.body));
  const before = residentMb();
  const until = performance.now() + QUIET_MS;
  const quiet = await reads(() => performance.now() > until);
  const push = await pushAll(keys);
  await sleep(QUIET_MS);
  tell(before, quiet, push);
  await assertCounted();
}

function tell(before: number, quiet: Reading, { seconds, waits, memory, reading }: Push): void {
  const peak = (from: number, to: number) => Math.max(...memory.filter(({ done }) => done >= from * SENSORS && done <= to * SENSORS).map(({ mb }) => mb)).toFixed(0); // prettier-ignore
  const ms = (part: number) => {
    const [alone, loaded] = [share(quiet.times, part), share(reading.times, part)];
    return `${alone.toFixed(1)} ms alone, ${loaded.toFixed(1)} ms meanwhile: ${(loaded / alone).toFixed(2)} times`;
  };
  say('pushed', `${SENSORS} sensors × ${count(ASSETS)} assets in ${seconds.toFixed(1)} s: ${count((SENSORS * ASSETS) / seconds)}/s`); // prettier-ignore
  say('asked to wait', `${waits.filter((times) => times > 0).length} sensors, ${count(waits.reduce((sum, times) => sum + times, 0))} times`); // prettier-ignore
  say('memory of the process', `${before.toFixed(0)} MB before, ${peak(0, 0.5)} MB at most in the first half, ${peak(0.5, 1)} MB in the second, ${residentMb().toFixed(0)} MB afterwards`); // prettier-ignore
  say('reads, median', ms(0.5));
  say('reads, 95 of 100', `${ms(0.95)} (${reading.times.length} reads)`);
  say('reads that failed', `${reading.refusals.length} ${[...new Set(reading.refusals)].join(', ')}`);
}

async function assertCounted(): Promise<void> {
  const { body: summary } = await service.call('GET', '/api/analytics/summary', { key: apiKey });
  const [rows] = await stage.sql<{ assets: number; places: number }>(
    `SELECT (SELECT count(*)::int FROM asset) AS assets, (SELECT count(*)::int FROM asset_occurrence WHERE location <> '') AS places`,
  );
  const expected = SENSORS * ASSETS + 1;
  say('counted', `${count(summary.total)} in analytics, ${count(rows?.assets ?? 0)} rows, ${count(rows?.places ?? 0)} places of ${count(expected - 1)}`); // prettier-ignore
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
