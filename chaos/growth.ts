import { Logger } from '@nestjs/common';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { seconds, withClient } from '../bench/inventory/copy-limits.js';
import { documentOf } from '../bench/inventory/documents.js';
import { runToEnd, type Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { ENDING, fillInventory, LABELS, ODD_NAMES } from './growth/fill.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- growth [--assets N] [--rounds N]
 * Creates an inventory with millions of assets. Checks that pages, summaries and searches return complete results in time, and that every certificate that is
 * about to expire raises an alert. Needs about 2 KB of disk space per asset in TMPDIR. Exits with 0 if all checks pass.
 */
const { values } = parseArgs({
  options: { assets: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '40' } },
});
const ASSETS = Number(values.assets);
const ROUNDS = Number(values.rounds);
/** Percentage of the table's pages to sample, which selects about a thousand assets regardless of the size of the inventory. */
const SAMPLE = Math.min(100, 100_000 / ASSETS);
const MAX_MS = 100;
const MAX_TRIES = 3;
/** Time limit for a call whose filter has no index. A call without an index reads a bounded part of the table and returns a cursor for the rest. */
const MAX_PART_MS = 2000;
const BASE = 10_000;
const ALERT_MINUTES = 5;
const PAGES = [
  '',
  '?sort=-level',
  '?sort=name',
  '?sort=notAfter&kind=certificate',
  '?family=RSA',
  '?kind=certificate&minLevel=HIGH',
  '?family=RSA&total=true',
];
const SUMMARIES = ['summary', 'families', 'expiry', 'risk-over-time'];

const { say, check, conclude } = new Findings();
let repeated = 0;
let stage: Stage;
let service: Service;
let apiKey: string;

/** Like a client, retries when the response has a Retry-After header. On a busy machine, a new database connection may take too long. */
async function get(path: string) {
  for (let tries = 1; ; tries += 1) {
    const { status, headers, body } = await service.call('GET', path, { key: apiKey });
    if (status === 200) return body;
    const pause = Number(headers.get('retry-after'));
    if (status !== 503 || !(pause > 0) || tries === MAX_TRIES)
      throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    repeated += 1;
    await sleep(pause * 1000);
  }
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
const search = (q: string, more = '') => `/api/assets?q=${encodeURIComponent(q)}${more}`;

/** Returns the 95th percentile of the call durations in milliseconds. Each round may use a different path. */
async function p95(path: (round: number) => string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push((await seconds(() => get(path(round)))) * 1000);
  return times.toSorted((one, other) => one - other)[Math.ceil(ROUNDS * 0.95) - 1] ?? NaN;
}

async function within(what: string, path: (round: number) => string): Promise<void> {
  const ms = await p95(path);
  check(what, ms <= MAX_MS, `p95 ${ms.toFixed(1)} ms`);
}

/** Returns search terms that occur in the inventory: hexadecimal digits from names, and locations. */
async function samples(): Promise<{ hex: string[]; places: string[] }> {
  return withClient(stage.databaseUrl, async (client) => {
    const { rows } = await client.query<{ hex: string; place: string }>(
      `SELECT substring(a.name FROM '[0-9a-f]{12}') AS hex, (SELECT location FROM asset_occurrence o WHERE o.asset_id = a.id LIMIT 1) AS place
       FROM asset a TABLESAMPLE SYSTEM (${SAMPLE}) WHERE a.name ~ '[0-9a-f]{12}' LIMIT ${ROUNDS}`,
    );
    return { hex: rows.map(({ hex }) => hex), places: rows.map(({ place }) => place) };
  });
}

async function searches(): Promise<void> {
  const { hex, places } = await samples();
  const of = (list: string[], round: number) => list[round % list.length] ?? '';
  await within('q= by a part of a name', (round) => search(`name=*${of(hex, round)}*`));
  await within('q= by a shorter part of a name', (round) => search(`name=*${of(hex, round).slice(3, 10)}*`));
  await within('q= by the beginning of a name', (round) => search(`name="CN=${of(hex, round).slice(0, 6)}*"`));
  await within('q= by a frequent word of names', () => search('name=*payments*'));
  await within('q= by a frequent and a rare word', (round) =>
    search(`name="*${of(hex, round).slice(0, 8)}*payments*"`),
  );
  for (const label of Object.keys(LABELS)) await within(`q= by the label ${label}`, () => search(`label=${label}`));
  await within('q= by a label and a kind', () => search('label=audit-2026 and kind=certificate'));
  await within('q= by a part of a place', (round) => search(`location=*${of(places, round).slice(-14, -4)}*`));
  await within('q= by a place', (round) => search(`location=${quoted(of(places, round))}`));
  await within(
    'filter by the beginning of a place',
    (round) => `/api/assets?location=${encodeURIComponent(of(places, round))}`,
  );
}

/** Returns the IDs that SQL finds without using the service's indexes. */
async function expected(text: string): Promise<string[]> {
  return withClient(stage.databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM asset WHERE strpos(name, $1) > 0 ORDER BY id', [
      text,
    ]);
    return rows.map(({ id }) => id);
  });
}

/** Reads all pages of a search, as a client does. */
async function found(q: string): Promise<{ ids: string[]; calls: number; longest: number }> {
  const ids: string[] = [];
  let [calls, longest] = [0, 0];
  for (let cursor: string | null = ''; cursor !== null; calls += 1) {
    const began = performance.now();
    const page = await get(search(q, `&limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`));
    longest = Math.max(longest, performance.now() - began);
    ids.push(...page.items.map(({ id }: { id: string }) => id));
    cursor = page.nextCursor;
  }
  return { ids, calls, longest };
}

async function complete(text: string): Promise<void> {
  const { ids, calls, longest } = await found(`name=${quoted(`*${text}*`)}`);
  const wanted = await expected(text);
  const how = `${ids.length} of ${wanted.length} in ${calls} calls, the longest ${longest.toFixed(0)} ms`;
  check(`q= finds all names with ${text}`, ids.join() === wanted.join() && longest <= MAX_PART_MS, how);
}

async function certificateAlerts(): Promise<void> {
  const rule = { name: 'ending', condition: 'certificate-expiring', parameters: { days: 30 }, severity: 'critical' };
  const { status, body } = await service.call('POST', '/api/alert-rules', { key: apiKey, body: rule });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const count = async () => {
    const [row] = await stage.sql<{ count: number }>('SELECT count(*)::int AS count FROM alert WHERE rule_id = $1', [
      body.id,
    ]);
    return row?.count ?? 0;
  };
  const end = performance.now() + ALERT_MINUTES * 60_000;
  while ((await count()) < ENDING && performance.now() < end) await sleep(2000);
  const raised = await count();
  check('every certificate that ends soon has its alert', raised === ENDING, `${raised} of ${ENDING}`);
}

async function sizes(total: number): Promise<void> {
  const rows = await stage.sql<{ name: string; bytes: number }>(
    `SELECT c.relname AS name, CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END::float8 AS bytes
     FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
     WHERE coalesce(i.indrelid, c.oid) IN ('asset'::regclass, 'asset_occurrence'::regclass, 'asset_relationship'::regclass) ORDER BY 2 DESC`,
  );
  for (const { name, bytes } of rows) say(`       ${(bytes / total).toFixed(0).padStart(5)} bytes an asset: ${name}`);
}

Logger.overrideLogger(false);
stage = await openStage();
try {
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  for (const name of ['one', 'two']) {
    const body = documentOf({ assets: BASE / 2, name });
    const headers = { 'content-type': 'application/json' };
    const { status } = await service.call('POST', '/api/ingest', { key: apiKey, headers, body });
    if (status !== 200) throw new Error(`the first documents were not taken: ${status}`);
  }
  const began = performance.now();
  const total = await fillInventory(stage.databaseUrl, ASSETS, (line) =>
    say(`       ${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s ${line}`),
  );
  // Creates the search indexes of an inventory of this size, which a worker would create within an hour.
  await runToEnd(['migrate'], stage.settings, { timeoutMs: 3_600_000 });
  say(`       ${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s search indexes`);
  say(`${total.toLocaleString('en')} assets`);
  await sizes(total);
  for (const query of PAGES) await within(`page ${query}`, () => `/api/assets${query}`);
  for (const path of SUMMARIES) await within(path, () => `/api/analytics/${path}`);
  await searches();
  await stage.start({ role: 'worker' });
  await certificateAlerts();
  // These searches run last, because terms without a trigram are searched part by part, which takes minutes.
  for (const text of [...ODD_NAMES, '%', '_d', 'юч']) await complete(text);
  say(`       ${repeated} calls were repeated`);
} finally {
  await stage.close();
}
conclude();
