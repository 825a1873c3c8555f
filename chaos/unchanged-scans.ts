import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { registerSensor } from '../test/sensors/sensor-calls.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- unchanged-scans [--sensors N] [--rounds N] [--assets N]
 * Sensors report the same findings every five minutes. A round simulates five minutes: it moves stored timestamps back, starts a PostgreSQL checkpoint, and
 * lets every sensor push once. A day is 288 rounds. Measures how many bytes PostgreSQL writes per push in an hour, and whether any table is larger at the end
 * than after the first hour (twelve rounds). Exits with 0 if all checks pass.
 */
const { values } = parseArgs({
  options: {
    sensors: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '288' },
    assets: { type: 'string', default: '20' },
  },
});
const SENSORS = Number(values.sensors);
const ROUNDS = Number(values.rounds);
const ASSETS = Number(values.assets);
const MINUTES_OF_A_ROUND = 5;
const ROUNDS_OF_AN_HOUR = 60 / MINUTES_OF_A_ROUND;
const SENDERS = 8;
const MAX_BYTES_PER_PUSH = 200;
/** Number of pages tolerated because autovacuum has not processed them yet. A table that grew with every push would exceed this number by far. */
const MAX_PAGES = 8;
const PAGE_BYTES = 8192;
/**
 * Timestamps checked by a push, with the interval in minutes at which a push updates them. The timestamps of a source and of a sensor's key are updated once
 * per hour. While a document is less than an hour old, each push writes a message. A document reaches the age of one hour only once, so the document's
 * timestamp is moved back only once (`isOnce`).
 */
const TIMES = [
  { table: 'inventory_source', column: 'last_seen', minutes: 60 },
  { table: 'api_key', column: 'last_used_at', minutes: 60 },
  { table: 'asset_occurrence', column: 'last_seen', minutes: MINUTES_OF_A_ROUND },
  { table: 'inventory_document', column: 'received_at', minutes: 60, isOnce: true },
];

const { say, check, conclude } = new Findings();
/** `fetch` would take a fifth of the machine's CPU from the service. */
const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
let stage: Stage;
let service: Service;

interface Sensor {
  readonly key: string;
  readonly source: string;
  /** Findings of the sensor, as JSON. */
  readonly assets: string;
}

function found(source: string, index: number) {
  const name = `key ${index} of ${source}`;
  const facts = { type: 'public-key', id: name, state: 'active', size: 2048 };
  const cryptoProperties = { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts };
  return {
    component: { type: 'cryptographic-asset', name, cryptoProperties },
    occurrence: { location: `${source}:/etc/ssl/${index}.pem` },
  };
}

async function push({ key, assets, source }: Sensor): Promise<void> {
  const facts = JSON.stringify({ scanId: randomUUID(), source, complete: true });
  const body = `${facts.slice(0, -1)},"assets":${assets}}`;
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'idempotency-key': randomUUID(),
  };
  const sent = request(`${service.url}/api/ingest`, { agent, method: 'POST', headers }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(answer);
}

/** Processes the items with SENDERS concurrent workers, each of which starts the next item when the previous one is answered. */
async function each<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const left = items.values();
  const results: Result[] = [];
  const one = async () => {
    for (const item of left) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: SENDERS }, one));
  return results;
}

async function register(): Promise<Sensor[]> {
  const { apiKey } = await stage.seed();
  return each(
    Array.from({ length: SENSORS }, (_, index) => index),
    async (index) => {
      const source = `machine-${index}`;
      const assets = Array.from({ length: ASSETS }, (_, number) => found(source, number));
      return { key: (await registerSensor(service, apiKey)).key, source, assets: JSON.stringify(assets) };
    },
  );
}

/**
 * Moves back the timestamps whose interval has passed in simulated time. Otherwise, rows that are written at most once per interval would not be written again.
 */
async function setBack(round: number): Promise<void> {
  for (const { table, column, minutes, isOnce = false } of TIMES) {
    const passed = round * MINUTES_OF_A_ROUND;
    if (isOnce ? passed !== minutes : passed % minutes !== 0) continue;
    await stage.sql(`UPDATE ${table} SET ${column} = ${column} - interval '${minutes} minutes'`);
    // Removes the dead rows of this update, so that they do not count as written by the pushes.
    await stage.sql(`VACUUM ${table}`);
  }
  await stage.sql('CHECKPOINT');
}

async function written(): Promise<number> {
  const [row] = await stage.sql<{ bytes: number }>(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`);
  return row?.bytes ?? NaN;
}

async function sizes(): Promise<Map<string, number>> {
  const rows = await stage.sql<{ name: string; bytes: number }>(
    `SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

function tell(perRound: readonly number[], afterAnHour: Map<string, number>, atTheEnd: Map<string, number>): void {
  const hours = Math.max(1, Math.floor((perRound.length - 1) / ROUNDS_OF_AN_HOUR));
  const counted = perRound.slice(-hours * ROUNDS_OF_AN_HOUR);
  const mean = counted.reduce((sum, bytes) => sum + bytes, 0) / counted.length;
  check(
    'bytes written for a push',
    mean < MAX_BYTES_PER_PUSH,
    `${mean.toFixed(0)} on average of ${counted.length} rounds, ${Math.max(...counted).toFixed(0)} in the worst`,
  );
  const grown = [...atTheEnd]
    .map(([name, bytes]) => ({ name, more: bytes - (afterAnHour.get(name) ?? 0) }))
    .filter(({ more }) => more > MAX_PAGES * PAGE_BYTES);
  check(
    'no table is larger than after the first hour',
    grown.length === 0,
    grown.map(({ name, more }) => `${name} by ${more}`).join(', '),
  );
}

Logger.overrideLogger(false);
stage = await openStage();
try {
  service = await stage.start();
  const sensors = await register();
  const began = performance.now();
  await each(sensors, push);
  say(
    `       ${SENSORS} sensors have reported ${ASSETS} assets each, in ${((performance.now() - began) / 1000).toFixed(0)} s`,
  );
  const perRound: number[] = [];
  let afterAnHour = new Map<string, number>();
  for (let round = 1; round <= ROUNDS; round += 1) {
    await setBack(round);
    const before = await written();
    await each(sensors, push);
    perRound.push(((await written()) - before) / SENSORS);
    if (round === Math.min(ROUNDS_OF_AN_HOUR, ROUNDS - 1)) afterAnHour = await sizes();
    if (round % ROUNDS_OF_AN_HOUR === 0)
      say(`       hour ${round / ROUNDS_OF_AN_HOUR}, after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  say(
    `       ${ROUNDS} rounds in ${((performance.now() - began) / 1000).toFixed(0)} s; bytes a push in each: ${perRound.map((bytes) => bytes.toFixed(0)).join(' ')}`,
  );
  tell(perRound, afterAnHour, await sizes());
} finally {
  agent.destroy();
  await stage.close();
}
conclude();
