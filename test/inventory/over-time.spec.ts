import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(method, path, { key: apiKey, headers, ...(body === undefined ? {} : { body }) });
const get = (path: string): Promise<Answer> => call('GET', path);
const ingest = (...body: Parameters<typeof bom>) => call('POST', '/api/ingest', bom(...body));
const signature = (name: string) => algorithm({ name, properties: { primitive: 'signature' } });
const YESTERDAY = new Date(Date.now() - 24 * 3600 * 1000).toISOString().slice(0, 10);

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  await ingest(
    [signature('RSA-2048'), algorithm({ name: 'AES-256-GCM' }), algorithm({ name: 'ML-KEM-768' })],
    about('shop'),
  );
  await ingest(
    [signature('RSA-2048'), material('key of the bank', { type: 'public-key', id: 'the-key-of-the-bank', size: 1024 })],
    about('bank'),
  );
  // A worker creates snapshots and computes the counts per source in the background.
  await stage.start({ role: 'worker' });
});
afterAll(() => stage.close());

describe('risk over time', () => {
  it('keeps past snapshots, whatever is learned later', async () => {
    const before = await until(
      'a snapshot',
      30,
      async () => (await get('/api/analytics/risk-over-time')).body.items[0],
    );
    expect(before).toMatchObject({ day: YESTERDAY, total: 4, demo: false, levels: { MEDIUM: 1 } });
    // A binding deadline takes precedence over recommendations: an executive order requires the signature algorithm to be replaced by 2031.
    expect(before.due).toEqual({ '2030-12-31': 1, '2031-12-31': 2, '2035-12-31': 2 });
    await ingest([algorithm({ name: 'DES' }), algorithm({ name: 'RC4' })], about('late'));
    const { body } = await get('/api/analytics/risk-over-time');
    expect(body.items).toEqual([before]);
    expect(body.now).toMatchObject({ total: 6, levels: { CRITICAL: 2 } });
    const { body: whole } = await get(`/api/analytics/snapshots/${YESTERDAY}`);
    expect(whole).toMatchObject({
      total: 4,
      families: expect.arrayContaining([expect.objectContaining({ value: 'AES', count: 1 })]),
    });
    expect((await get('/api/analytics/snapshots/2001-01-01')).body).toMatchObject({
      status: 404,
      code: 'snapshot.missing',
    });
    expect((await get('/api/analytics/risk-over-time?to=yesterday')).status).toBe(400);
    expect((await get('/api/analytics/risk-over-time?to=2001-01-01')).body.items).toEqual([]);
  });

  it.each([`UPDATE inventory_snapshot SET summary = '{}'`, 'DELETE FROM inventory_snapshot'])(
    'rejects %s in the database itself',
    async (statement) => {
      await expect(stage.sql(statement)).rejects.toThrow('never changes');
    },
  );
});

describe('asset counts', () => {
  it('by source count shared assets at each, sorted by most assets', async () => {
    const { items } = (await get('/api/analytics/sources')).body;
    expect(items).toHaveLength(3);
    expect(items.map(({ name, total }: { name: string; total: number }) => `${total} ${name}`)[0]).toBe('3 shop');
    expect(items.find(({ name }: { name: string }) => name === 'bank')).toMatchObject({
      total: 2,
      levels: { MEDIUM: 1 },
    });
    const first = await get('/api/analytics/sources?limit=1');
    const second = await get(`/api/analytics/sources?limit=2&cursor=${first.body.nextCursor}`);
    expect([...first.body.items, ...second.body.items]).toEqual(items);
  });

  it('include a new source immediately, and are the same when recomputed', async () => {
    const library = { type: 'library', name: 'a library', 'bom-ref': 'library' };
    const dependencies = [{ ref: 'library', provides: ['Blowfish'] }];
    await ingest([signature('RSA-2048'), algorithm({ name: 'Blowfish' }), library], {
      ...about('new'),
      dependencies,
    });
    const counted = (items: { name: string }[]) => items.find(({ name }) => name === 'new');
    const { countedAt, ...atOnce } = counted((await get('/api/analytics/sources')).body.items) as Record<
      string,
      unknown
    >;
    expect(atOnce).toMatchObject({ total: 3, unjudged: 1 });
    await stage.sql('INSERT INTO inventory_recount (source_id) SELECT id FROM inventory_source');
    const again = await until('the count', 30, async () => {
      const found = counted((await get('/api/analytics/sources')).body.items) as Record<string, unknown>;
      return found['countedAt'] !== countedAt && found;
    });
    expect(again).toMatchObject(atOnce);
  });

  it('of a new source include changes made while its document is processed', async () => {
    const change = new Client({ connectionString: stage.databaseUrl });
    await change.connect();
    await change.query('BEGIN');
    // Simulates a document from another source that adds details to the asset.
    await change.query(`SELECT id FROM asset WHERE name = 'RC4' FOR UPDATE`);
    const incoming = ingest([algorithm({ name: 'RC4' })], about('meanwhile'));
    await until('it comes in', 30, async () => {
      const waiting = await stage.sql(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return waiting.length > 0;
    });
    await change.query(
      `UPDATE asset SET verdict_id = (SELECT id FROM risk_verdict WHERE level = 0 LIMIT 1) WHERE name = 'RC4'`,
    );
    await change.query('COMMIT');
    await change.end();
    expect((await incoming).status).toBe(200);
    const { body } = await get('/api/analytics/sources');
    const source = body.items.find(({ name }: { name: string }) => name === 'meanwhile');
    expect(source).toMatchObject({ total: 1, levels: { NONE: 1, CRITICAL: 0 } });
  });

  it('by source follow changes made through another source', async () => {
    await ingest([], about('shop'));
    const shop = await until('the source', 30, async () => {
      const { body } = await get('/api/analytics/sources');
      return body.items.find(({ name, total }: { name: string; total: number }) => name === 'shop' && total === 0);
    });
    expect(shop.levels).toEqual({ NONE: 0, LOW: 0, MEDIUM: 0, HIGH: 0, CRITICAL: 0 });
  });

  it('by owner are available', async () => {
    const [asset] = (await get('/api/assets?family=DES')).body.items;
    await call('PATCH', `/api/assets/${asset.id}`, { owner: 'payments' }, { 'if-match': '"1"' });
    const { body } = await get('/api/analytics/owners');
    expect(body.items).toContainEqual(expect.objectContaining({ value: 'payments', count: 1 }));
  });
});
