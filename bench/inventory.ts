import { Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';

/**
 * The inventory beside this machine's plain COPY, in one run: rates are assets per second through HTTP, checking, judging and
 * writing, as ratios of rows per second of a COPY into (and out of) a bare table. L is a COPY of rows whose component is `jsonb`, as it
 * was when the targets were set; the table itself has text by now, which is a little faster.
 *
 * BENCH_ASSETS: sizes of documents. BENCH_FILL: afterwards the rows are multiplied up to so many within the database, and what reads
 * them is measured again.
 */
const SIZES = (process.env['BENCH_ASSETS'] ?? '10000,100000').split(',').map(Number);
const FILL = Number(process.env['BENCH_FILL'] ?? 0);
const ROUNDS = 40;
const ALGORITHMS = [
  'RSA-2048',
  'RSA-4096',
  'EC-secp256r1',
  'Ed25519',
  'AES-256-GCM',
  'ML-KEM-768',
  'ML-DSA-65',
  '3DES',
];

let stage: Stage;
let service: Service;
let apiKey: string;

/** Keys and certificates, each an asset of its own with one place and one edge; about 450 bytes each. */
function document(assets: number, edition: number, name = 'bench'): string {
  const algorithms = ALGORITHMS.map((algorithm) => ({
    type: 'cryptographic-asset',
    'bom-ref': algorithm,
    name: algorithm,
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: {} },
  }));
  const components = Array.from({ length: assets - algorithms.length }, (_, i) => {
    const id = createHash('sha256').update(`${i}`).digest('hex');
    const at = {
      occurrences: [{ location: `host-${i % 5000}.example.com:443/etc/ssl/${id.slice(0, 8)}.pem`, line: i % 100 }],
    };
    const ref = ALGORITHMS[i % ALGORITHMS.length];
    const common = { type: 'cryptographic-asset', 'bom-ref': `a${i}`, name: `asset ${id.slice(0, 12)}`, evidence: at };
    if (i % 2 === 0) {
      const facts = { type: 'public-key', id, state: 'active', algorithmRef: ref };
      return {
        ...common,
        cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts },
      };
    }
    const day = String((i % 28) + 1).padStart(2, '0');
    const facts = {
      subjectName: `CN=${id.slice(0, 12)}.example.com`,
      issuerName: 'CN=Example CA',
      notValidBefore: '2026-01-01T00:00:00Z',
      notValidAfter: `20${27 + (i % 8)}-0${(i % 9) + 1}-${day}T00:00:00Z`,
      signatureAlgorithmRef: ref,
    };
    return { ...common, cryptoProperties: { assetType: 'certificate', certificateProperties: facts } };
  });
  const dependencies = components.map((component, i) => ({
    ref: component['bom-ref'],
    dependsOn: [ALGORITHMS[i % ALGORITHMS.length]],
  }));
  const metadata = {
    component: { type: 'application', name },
    properties: [{ name: 'edition', value: `${edition}` }],
  };
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata,
    components: [...algorithms, ...components],
    dependencies,
  };
  return JSON.stringify(bom);
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
};
const p = (share: number, list: number[]) => list.sort((a, b) => a - b)[Math.ceil(list.length * share) - 1] ?? NaN;
const say = (what: string, text: string) => console.log(`${what.padEnd(44)}${text}`);
const verdict = (reached: number, wanted: number) =>
  `${reached.toFixed(2)} (wanted ${wanted}${reached < wanted ? ', MISSED' : ''})`;
const within = (ms: number, wanted: number) => `${ms.toFixed(1)} ms (wanted ${wanted}${ms > wanted ? ', MISSED' : ''})`;

async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: stage.databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** L: rows of `asset`, as text, into a table without any index. */
async function copyLimits(): Promise<{ into: number; out: number }> {
  return withClient(async (client) => {
    const chunks: Buffer[] = [];
    const outTime = await seconds(async () => {
      for await (const chunk of client.query(copyTo('COPY asset TO STDOUT'))) chunks.push(chunk as Buffer);
    });
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM asset');
    await client.query(
      'DROP TABLE IF EXISTS bare; CREATE TABLE bare (LIKE asset); ALTER TABLE bare ALTER component TYPE jsonb USING NULL',
    );
    const inTime = await seconds(() => pipeline(Readable.from(chunks), client.query(copyFrom('COPY bare FROM STDIN'))));
    await client.query('DROP TABLE bare');
    const count = rows[0]?.count ?? 0;
    return { into: count / inTime, out: count / outTime };
  });
}

/** Milliseconds that a call to the liveness probe takes while the work is under way: what the event loop is held up. */
async function ingest(body: string): Promise<{ time: number; probes: number[]; created: number }> {
  const probes: number[] = [];
  const work = { over: false };
  const prober = (async () => {
    while (!work.over) {
      probes.push((await seconds(() => service.call('GET', '/actuator/health/liveness'))) * 1000);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  let created = 0;
  try {
    const time = await seconds(async () => {
      const answer = await service.call('POST', '/api/ingest', { key: apiKey, body });
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
      created = answer.body.created;
    });
    return { time, probes, created };
  } finally {
    work.over = true;
    await prober;
  }
}

async function times(path: string): Promise<number[]> {
  const list: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1)
    list.push(
      (await seconds(async () => {
        const { status, body } = await service.call('GET', path, { key: apiKey });
        if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
      })) * 1000,
    );
  return list;
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

async function exportAll(): Promise<{ time: number; bytes: number; grown: number }> {
  const before = await residentBytes();
  let peak = before;
  let bytes = 0;
  const time = await seconds(async () => {
    const response = await fetch(`${service.url}/api/export/cyclonedx`, {
      headers: { authorization: `Bearer ${apiKey}`, 'accept-encoding': 'identity' },
    });
    let looked = performance.now();
    for await (const chunk of response.body ?? []) {
      bytes += (chunk as Uint8Array).length;
      if (performance.now() - looked < 500) continue;
      looked = performance.now();
      peak = Math.max(peak, await residentBytes());
    }
  });
  return { time, bytes, grown: (peak - before) / 1024 / 1024 };
}

async function measure(assets: number): Promise<void> {
  console.log(`\n${assets.toLocaleString('en')} assets`);
  // The thread that takes documents in starts with the first one.
  await ingest(document(ALGORITHMS.length + 1, 1, 'the first'));
  const body = document(assets, 1);
  const first = await ingest(body);
  const again = await ingest(document(assets, 2));
  const limit = await copyLimits();
  const exported = await exportAll();
  say('COPY into a bare table (L)', `${Math.round(limit.into).toLocaleString('en')}/s`);
  say(
    'first ingest',
    `${Math.round(first.created / first.time).toLocaleString('en')}/s  ${verdict(first.created / first.time / limit.into, 0.3)} of L`,
  );
  say(
    'unchanged',
    `${Math.round(assets / again.time).toLocaleString('en')}/s  ${verdict(assets / again.time / limit.into, 0.5)} of L`,
  );
  say(
    'event loop while it comes in, p99',
    `${within(p(0.99, first.probes), 100)}, ${(body.length / 1e6).toFixed(0)} MB`,
  );
  say(
    'export',
    `${Math.round(assets / exported.time).toLocaleString('en')}/s  ${verdict(assets / exported.time / limit.out, 0.6)} of COPY TO, RSS +${exported.grown.toFixed(0)} MB`,
  );
  await reads();
}

/** What people wait for: pages, counts, the graph. */
async function reads(): Promise<void> {
  for (const query of [
    '',
    '?sort=-level',
    '?family=RSA',
    '?kind=certificate&minLevel=HIGH',
    '?sort=notAfter&kind=certificate',
    '?family=RSA&total=true',
  ])
    say(`page ${query}`, within(p(0.95, await times(`/api/assets${query}`)), 50));
  for (const path of ['summary', 'families', 'expiry', 'risk-over-time'])
    say(path, within(p(0.95, await times(`/api/analytics/${path}`)), 50));
  say('conflicts', `${p(0.95, (await times('/api/quantum-risk/conflicts')).slice(0, 10)).toFixed(1)} ms`);
  const { body: page } = await service.call('GET', '/api/assets?name=RSA-2048', { key: apiKey });
  const radius = `/api/relationships/${page.items[0].id}/blast-radius?limit=10000`;
  const { body: reached } = await service.call('GET', radius, { key: apiKey });
  say(`blast radius of ${reached.items.length}`, within(p(0.95, (await times(radius)).slice(0, 10)), 150));
}

/** Every row but the algorithms again and again, under other ids, until there are so many. */
async function fill(total: number, there: number): Promise<void> {
  const copies = Math.round(total / there) - 1;
  const id = (of: string) => `md5(${of}::text || n)::uuid`;
  await withClient(async (client) => {
    const columns = `kind, name, family, bits, level, quantum, classical, rule, deadline, verdict_id, resolved_by, not_before, not_after, component, content`;
    await client.query(
      `INSERT INTO asset (id, ${columns}) SELECT ${id('id')}, ${columns} FROM asset, generate_series(1, ${copies}) n WHERE kind <> 'algorithm' ORDER BY 1`,
    );
    await client.query(
      `INSERT INTO asset_occurrence (asset_id, source_id, id, location, line) SELECT ${id('asset_id')}, source_id, id, location, line
       FROM asset_occurrence, generate_series(1, ${copies}) n WHERE location <> '' ORDER BY 1`,
    );
    await client.query(
      `INSERT INTO asset_relationship (from_id, kind, to_id, source_id) SELECT ${id('from_id')}, kind, to_id, source_id
       FROM asset_relationship, generate_series(1, ${copies}) n ORDER BY 1`,
    );
    await client.query(`UPDATE inventory_tally SET count = count * ${copies + 1}`);
    await client.query('VACUUM ANALYZE asset, asset_occurrence, asset_relationship');
  });
}

/** From the change of a rule that a quarter of all assets fall under to the last asset that was judged anew. */
async function reclassify(): Promise<void> {
  const { body: rules } = await service.call('GET', '/api/quantum-risk/rules', { key: apiKey });
  const { id, target, ...rule } = rules.items.find((one: { id: string }) => one.id === 'Q-ECDSA-128');
  const time = await seconds(async () => {
    const { body: made } = await service.call('PUT', `/api/quantum-risk/rules/${id}`, {
      key: apiKey,
      headers: { 'if-match': `"${rules.version}"` },
      body: { ...rule, ...(target === null ? {} : { target }), level: 'CRITICAL' },
    });
    for (let status = ''; status !== 'DONE';) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const { body } = await service.call('GET', `/api/quantum-risk/reclassifications/${made.version}`, {
        key: apiKey,
      });
      status = body.status;
      if (status === 'DONE') say('assets judged anew', body.changedAssets.toLocaleString('en'));
    }
  });
  say('judging anew', `${time.toFixed(1)} s (wanted 60${time > 60 ? ', MISSED' : ''})`);
}

Logger.overrideLogger(false);
for (const size of SIZES) {
  stage = await openStage();
  try {
    ({ apiKey } = await stage.seed());
    service = await stage.start();
    await measure(size);
    if (FILL > size && size === SIZES.at(-1)) {
      await fill(FILL, size);
      console.log(`\n${FILL.toLocaleString('en')} assets, multiplied within the database`);
      await reads();
      await reclassify();
      const limit = await copyLimits();
      const { time, grown } = await exportAll();
      say('export', `${verdict(FILL / time / limit.out, 0.6)} of COPY TO, RSS +${grown.toFixed(0)} MB (wanted 80)`);
    }
  } finally {
    await stage.close();
  }
}
