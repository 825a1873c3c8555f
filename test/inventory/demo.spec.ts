import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runToEnd, type Answer, type Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

const facts = join(tmpdir(), `sealwright-demo-${process.pid}.env`);
const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, path, { key: apiKey, ...(body === undefined ? {} : { body }) });
const total = async () => (await call('GET', '/api/analytics/summary')).body.total;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  await runToEnd(['seed-demo', '--out', facts, '--inventory'], stage.settings);
  service = await stage.start({ role: 'api' });
});
afterAll(async () => {
  rmSync(facts, { force: true });
  await stage.close();
});

it('demo data is marked, and one call removes all of it and nothing else', async () => {
  const { body } = await call('GET', '/api/analytics/risk-over-time');
  expect(body.items.length).toBeGreaterThan(80);
  expect(body.items.every(({ demo }: { demo: boolean }) => demo)).toBe(true);
  const [level] = (await call('GET', '/api/assets?minLevel=CRITICAL')).body.items;
  const { items: places } = (await call('GET', `/api/assets/${level.id}/occurrences`)).body;
  expect(places.map(({ source }: { source: string }) => source)).toEqual(['demo: old ERP']);
  const before = await total();
  expect(before).toBeGreaterThan(40);

  await call(
    'POST',
    '/api/ingest',
    bom([algorithm({ name: 'RSA-2048', properties: { primitive: 'signature' } })], about('real')),
  );
  expect((await call('GET', '/api/demo')).body).toEqual({ sources: 5 });
  const { status, body: removed } = await call('DELETE', '/api/demo');
  expect({ status, sources: removed.sources, days: removed.days }).toEqual({
    status: 200,
    sources: 5,
    days: body.items.length,
  });
  expect((await call('GET', '/api/assets')).body.items.map(({ name }: { name: string }) => name)).toEqual(['RSA-2048']);
  expect(await total()).toBe(1);
  const left = await stage.sql(
    `SELECT dimension, value, sum(count)::int AS count FROM inventory_tally GROUP BY 1, 2 HAVING sum(count) <> 0 AND (dimension, value) = ('kind', 'algorithm') OR sum(count) < 0`,
  );
  expect(left).toEqual([{ dimension: 'kind', value: 'algorithm', count: 1 }]);
  expect((await call('GET', '/api/analytics/risk-over-time')).body.items).toEqual([]);
  expect((await call('GET', '/api/demo')).body).toEqual({ sources: 0 });
  expect((await call('DELETE', '/api/demo')).body).toEqual({ sources: 0, assets: 0, days: 0 });
});
