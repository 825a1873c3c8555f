import { Logger } from '@nestjs/common';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LARGE_BODY_MEMORY_BYTES } from '../src/platform/http/bodies/body-limits.js';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { BareTable, fill, middle, seconds } from './inventory/copy-limits.js';
import { documentOf } from './inventory/documents.js';
import { judgeAnew } from './inventory/judging.js';
import { Probe } from './inventory/probe.js';
import { CpuMeter } from './support/cpu-meter.js';

/**
 * Compares the inventory with a plain COPY on the same machine, alternating between inventory and COPY. An import rate is the number of assets per second,
 * including HTTP, validation, classification and writing. Each import rate is compared with the rows per second of a COPY into a bare table immediately before.
 * Each export is compared with a COPY out of the table.
 *
 * BENCH_ASSETS: document sizes; each size gets a fresh database and service. BENCH_FILL: number of assets to which the inventory is filled after the last size,
 * by duplicating rows inside the database. The read operations are then measured again.
 */
const SIZES = (process.env['BENCH_ASSETS'] ?? '10000,100000').split(',').map(Number);
const FILL = Number(process.env['BENCH_FILL'] ?? 0);
const ROUNDS = 40;
/** Assets imported before the measurement, because a new service is slow until V8 has compiled its hot code. */
const WARM_UP = 10_000;
const WARM_UPS = 3;
/** Total number of assets to import over all turns. The result is the median of the turns, because a single turn varies too much. */
const ENOUGH = 500_000;
const MIN_TURNS = 3;
const MAX_TURNS = 7;
/**
 * Number of concurrent senders, provided that the service accepts that much data at once (docs/sensors.md). Each sender sends DOCUMENTS_EACH documents per
 * turn. At the end of a turn, one sender waits for the other sender. With more documents, the wait is a smaller share of the turn.
 */
const SENDERS = 2;
const DOCUMENTS_EACH = 4;
/**
 * Minimum number of rows in the reference COPY. A COPY of 10,000 rows takes a tenth of a second, and the durations of such short runs vary by a factor of two.
 */
const MIN_ROWS = 100_000;
const EXPORTS = 5;

const PAGES = [
  '',
  '?sort=-level',
  '?family=RSA',
  '?kind=algorithm',
  '?kind=certificate&minLevel=HIGH',
  '?sort=notAfter&kind=certificate',
  '?family=RSA&total=true',
];
const SUMMARIES = ['summary', 'families', 'expiry', 'risk-over-time'];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let stage: Stage;
let service: Service;
let apiKey: string;

const say = (what: string, text: string) => console.log(`${what.padEnd(44)}${text}`);
const missed = (is: boolean) => (is ? ', MISSED' : '');
const per = (count: number, time: number) => `${Math.round(count / time).toLocaleString('en')}/s`;
const share = (reached: number, wanted: number) =>
  `${reached.toFixed(2)} (wanted ${wanted}${missed(reached < wanted)})`;
const p = (part: number, list: readonly number[]) =>
  list.toSorted((a, b) => a - b)[Math.ceil(list.length * part) - 1] ?? NaN;

/** Milliseconds per operation at each inventory size, printed side by side at the end. */
const grown = new Map<string, string[]>();

function within(what: string, ms: number, wanted: number): void {
  say(what, `${ms.toFixed(1)} ms (wanted ${wanted}${missed(ms > wanted)})`);
  grown.set(what, [...(grown.get(what) ?? []), ms.toFixed(1)]);
}

interface Taken {
  /** Duration in seconds. */
  readonly time: number;
  readonly created: number;
}

async function take(body: Buffer): Promise<Taken> {
  let created = 0;
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'content-length': body.length,
  };
  const time = await seconds(async () => {
    // `fetch` would occupy a whole core, which the service needs.
    const sent = request(`${service.url}/api/ingest`, { method: 'POST', headers }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const answer = (await json(response)) as { created: number };
    if (response.statusCode !== 200) throw new Error(JSON.stringify(answer));
    ({ created } = answer);
  });
  return { time, created };
}

/** Sends all documents. Each sender sends its next document once the previous document has been answered. */
async function takeAll(bodies: readonly Buffer[], senders: number): Promise<Taken> {
  const left = bodies.values();
  const taken: Taken[] = [];
  const send = async () => {
    for (const body of left) taken.push(await take(body));
  };
  const time = await seconds(() => Promise.all(Array.from({ length: senders }, send)));
  return { time, created: taken.reduce((sum, { created }) => sum + created, 0) };
}

/** Measures imports of this size and returns the final number of assets. */
async function measure(assets: number): Promise<number> {
  const again = documentOf({ assets, name: 'bench 0', edition: 2 });
  const senders = Math.min(SENDERS, Math.floor(LARGE_BODY_MEMORY_BYTES / again.length) || 1);
  const many = senders === 1 ? 1 : senders * DOCUMENTS_EACH;
  const count = Math.min(MAX_TURNS, Math.max(MIN_TURNS, Math.ceil(ENOUGH / assets / many)));
  // Turns alternate between all senders and a single sender.
  const sizes = Array.from({ length: count }, () => (senders === 1 ? [1] : [many, 1])).flat();
  let made = 0;
  const next = () => documentOf({ assets, name: `bench ${made++}` });
  const turnsToTake = sizes.map((size) => Array.from({ length: size }, next));
  console.log(`\n${assets.toLocaleString('en')} assets in a document, ${made} documents`);
  const watched = documentOf({ assets, name: 'watched' });
  const cold = await take(documentOf({ assets: WARM_UP, name: 'the first' }));
  for (let i = 1; i < WARM_UPS; i += 1)
    await takeAll(
      Array.from({ length: SENDERS }, (_, j) => documentOf({ assets: WARM_UP, name: `early ${i} ${j}` })),
      SENDERS,
    );
  const bare = await BareTable.open(stage.databaseUrl, Math.max(assets, MIN_ROWS));
  // Garbage left from building the documents would distort the measurement.
  collectGarbage();
  const meter = await CpuMeter.of(service, apiKey);
  const turns: (Turn & { readonly by: number })[] = [];
  for (const documents of turnsToTake) {
    const limit = await bare.copyIn();
    const by = documents.length > 1 ? senders : 1;
    const { created, time } = await meter.during(() => takeAll(documents, by));
    turns.push({ rate: created / time, limit, by });
  }
  const probes = await probesDuring(() => take(watched));
  const limitAgain = await bare.copyIn();
  const unchanged = await take(again);
  await bare.close();
  say(`the very first document, of ${WARM_UP}`, per(cold.created, cold.time));
  for (const by of new Set(turns.map((turn) => turn.by))) {
    const alike = turns.filter((turn) => turn.by === by);
    const first = middle(alike, shareOf);
    say(
      `first ingest, ${by === 1 ? 'one sender' : `${by} senders`}`,
      `${per(first.rate, 1)}  ${share(shareOf(first), 0.3)} of L, ${per(first.limit, 1)}`,
    );
    say('', alike.map((turn) => `${shareOf(turn).toFixed(2)} (${per(turn.rate, 1)})`).join(' '));
  }
  say('', meter.perRequest(assets * made).replace('request', 'asset'));
  say('unchanged', `${per(assets, unchanged.time)}  ${share(assets / unchanged.time / limitAgain, 0.5)} of L`);
  within(`event loop p99, ${(watched.length / 1e6).toFixed(0)} MB coming in`, p(0.99, probes), 100);
  await measureExport();
  await reads();
  return assets * (made + 1) + WARM_UP * (1 + (WARM_UPS - 1) * SENDERS);
}

/** The measured rate, and the machine's limit measured immediately before. */
interface Turn {
  readonly rate: number;
  readonly limit: number;
}

const shareOf = ({ rate, limit }: Turn) => rate / limit;

/** Probes the service during `work` and returns the response times. Runs separately from other measurements, because the probe uses the same two cores. */
async function probesDuring(work: () => Promise<unknown>): Promise<number[]> {
  const probe = await Probe.start(service.url);
  await work();
  return probe.stop();
}

async function residentMegabytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/**
 * Measures exports. The first export only shows memory growth and is not compared with the limit, because the first export after the service starts is slow.
 */
async function measureExport(): Promise<void> {
  const bare = await BareTable.open(stage.databaseUrl);
  const cold = await exportAll();
  const turns: Turn[] = [];
  for (let round = 0; round < EXPORTS; round += 1) {
    const limit = await bare.copyOut();
    const { time } = await exportAll();
    turns.push({ rate: bare.rows / time, limit });
  }
  await bare.close();
  const told = middle(turns, shareOf);
  const memory = `RSS +${cold.growth.toFixed(0)} MB (wanted 80${missed(cold.growth > 80)})`;
  say('the first export', per(bare.rows, cold.time));
  say('export', `${per(told.rate, 1)}  ${share(shareOf(told), 0.6)} of COPY TO, ${memory}`);
  say('', turns.map((turn) => `${shareOf(turn).toFixed(2)} (${per(turn.rate, 1)})`).join(' '));
}

async function exportAll(): Promise<{ time: number; growth: number }> {
  const before = await residentMegabytes();
  let peak = before;
  const time = await seconds(async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const [response] = (await once(get(`${service.url}/api/export/cyclonedx`, { headers }), 'response')) as [
      IncomingMessage,
    ];
    let looked = performance.now();
    for await (const _chunk of response) {
      if (performance.now() - looked < 500) continue;
      looked = performance.now();
      peak = Math.max(peak, await residentMegabytes());
    }
  });
  return { time, growth: peak - before };
}

async function times(path: string, rounds = ROUNDS, body?: object): Promise<number[]> {
  const list: number[] = [];
  const [method, sent] = body === undefined ? ['GET', {}] : ['POST', { body }];
  for (let round = 0; round < rounds; round += 1)
    list.push(
      (await seconds(async () => {
        const answer = await service.call(method, path, { key: apiKey, ...sent });
        if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
      })) * 1000,
    );
  return list;
}

/** Measures the requests that users wait for: pages, counts and the graph. */
async function reads(): Promise<void> {
  for (const query of PAGES) within(`page ${query}`, p(0.95, await times(`/api/assets${query}`)), 50);
  for (const path of SUMMARIES) within(path, p(0.95, await times(`/api/analytics/${path}`)), 50);
  within('conflicts', p(0.95, await times('/api/quantum-risk/conflicts')), 50);
  const policy = { pack: 'cnsa-2.0' };
  within('held against CNSA 2.0', p(0.95, await times('/api/attestations/evaluations', ROUNDS, policy)), 50);
  const { body: page } = await service.call('GET', '/api/assets?name=RSA-2048', { key: apiKey });
  const radius = `/api/relationships/${page.items[0].id}/blast-radius?limit=10000`;
  const { body: reached } = await service.call('GET', radius, { key: apiKey });
  say('nodes in the blast radius', `${reached.items.length}`);
  within('blast radius', p(0.95, await times(radius, 20)), 150);
}

async function reclassify(): Promise<void> {
  const { time, changed } = await judgeAnew(service, apiKey);
  say('assets judged anew', changed.toLocaleString('en'));
  say('judging anew', `${time.toFixed(1)} s (wanted 60${missed(time > 60)})`);
}

/** Fills the inventory and measures the read operations again. The tables are vacuumed first, as autovacuum would do within a minute or two. */
async function measureFilled(there: number): Promise<void> {
  const assets = await fill(stage.databaseUrl, FILL, there);
  const how = assets > there ? 'multiplied within the database' : 'a moment later';
  console.log(`\n${assets.toLocaleString('en')} assets, ${how}`);
  await reads();
  await measureExport();
  await reclassify();
}

Logger.overrideLogger(false);
for (const size of SIZES) {
  stage = await openStage();
  try {
    ({ apiKey } = await stage.seed());
    service = await stage.start();
    const there = await measure(size);
    if (FILL > 0 && size === SIZES.at(-1)) await measureFilled(there);
  } finally {
    await stage.close();
  }
}
const sizes = FILL > 0 ? [...SIZES, FILL] : SIZES;
console.log(`\nGrowth, ms at ${sizes.map((size) => size.toLocaleString('en')).join(' | ')} assets`);
for (const [what, list] of grown) if (list.length > 1) say(what, list.join(' | '));
