import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { listenTo } from '../support/server-sent-events.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

const MANY = 20_000;

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const send = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call('POST', '/api/v1/import/source-scan?async=true', { key: apiKey, body, headers });
const follow = (path: string, key = apiKey): Promise<Answer> => service.call('GET', path, { key });
async function ended(location: string): Promise<Answer['body']> {
  for (let round = 0; round < 6; round += 1) {
    const { body } = await follow(`${location}?wait=10`);
    if (body.endedAt !== null) return body;
  }
  throw new Error('the import does not end');
}
const countOf = async (table: string) =>
  (await stage.sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`))[0]?.count;

describe('a background import', () => {
  it('is accepted immediately, can be tracked, and yields the same result as a synchronous one', async () => {
    const document = bom([algorithm({ name: 'RSA-2048', at: 'a.ts' }), algorithm({ name: 'DES' })], about('shop'));
    const { status, headers, body } = await send(document, { 'idempotency-key': 'once' });
    expect(status).toBe(202);
    const location = headers.get('location') ?? '';
    expect(location).toBe(`/api/imports/${body.id}`);
    const end = await ended(location);
    expect(end).toMatchObject({ status: 'DONE', attempts: 1, outcome: { source: 'shop', received: 2, created: 2 } });
    const again = await send(document, { 'idempotency-key': 'once' });
    expect(again.body).toMatchObject({ id: body.id, status: 'DONE' });
    expect((await follow('/api/imports?limit=1')).body.items).toMatchObject([{ id: body.id }]);
    const { key } = await newApiKey(service, apiKey, ['inventory:write']);
    const { key: reader } = await newApiKey(service, apiKey, ['inventory:read']);
    expect((await follow('/api/imports/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11', key)).body.code).toBe('import.missing');
    expect((await follow(location, reader)).status).toBe(403);
  });

  it('appears in lists without a large outcome', async () => {
    const invalid = Array.from({ length: 3000 }, () => ({ name: randomBytes(20).toString('hex') }));
    const { headers } = await service.call('POST', '/api/ingest?async=true', {
      key: apiKey,
      body: { assets: invalid },
    });
    const location = headers.get('location') ?? '';
    expect((await ended(location)).outcome.rejected).toHaveLength(3000);
    const [listed] = (await follow('/api/imports?limit=1')).body.items;
    expect(listed).toMatchObject({ id: location.split('/').at(-1), status: 'DONE', total: 3000 });
    expect(listed).not.toHaveProperty('outcome');
  });

  it('reports its progress', async () => {
    // The document contains enough assets that progress is reported before the last asset has been imported.
    const assets = Array.from({ length: MANY }, (_, i) =>
      material(`told ${i}`, { type: 'public-key', id: randomUUID(), size: 2048 }),
    );
    const { headers } = await send(bom(assets, about('told')));
    const path = `${headers.get('location')}/events`;
    const events = await listenTo(service, path, apiKey).ended;
    expect(events.every(({ name }) => name === 'status')).toBe(true);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(events.length).toBeGreaterThan(1);
    expect(events.at(-1)?.data).toMatchObject({ status: 'DONE', done: MANY, outcome: { created: MANY } });
    const { key: reader } = await newApiKey(service, apiKey, ['inventory:read']);
    expect((await follow(path, reader)).status).toBe(403);
  });

  it('is rejected if its sender may no longer report', async () => {
    const { id, key } = await newApiKey(service, apiKey, ['inventory:report']);
    const waiting = async (name: string, change: () => Promise<unknown>) => {
      const body = bom([algorithm({ name })], about(name));
      const { headers } = await service.call('POST', '/api/ingest?async=true', {
        key,
        body,
        headers: { 'idempotency-key': name },
      });
      await ended(headers.get('location') ?? '');
      await change();
      // Simulates an import that has been queued until now.
      const [row] = await stage.sql<{ id: string }>(
        `INSERT INTO inventory_import (id, bytes, "order", owner_id)
         SELECT gen_random_uuid(), bytes, jsonb_set("order", '{idempotencyKey}', to_jsonb(gen_random_uuid()::text)), owner_id
         FROM inventory_import WHERE id = $1 RETURNING id`,
        [(headers.get('location') ?? '').split('/').at(-1)],
      );
      return ended(`/api/imports/${row?.id}`);
    };
    const end = await waiting('left', () => service.call('DELETE', `/api/settings/api-keys/${id}`, { key: apiKey }));
    expect(end).toMatchObject({ status: 'REFUSED', attempts: 1, problem: { code: 'import.rights-ended' } });
  });

  it('is rejected with the same pointers', async () => {
    const { headers } = await send({ ...bom([]), cryptoAssets: [] });
    expect(await ended(headers.get('location') ?? '')).toMatchObject({
      status: 'REFUSED',
      problem: { code: 'document.invalid', errors: [{ pointer: '/cryptoAssets' }] },
    });
    expect(
      (await send('x', { 'content-type': 'application/octet-stream', 'x-key-store-password': 'x' })).body.code,
    ).toBe('import.password');
  });

  it('survives the loss of its worker: stored completely, once, without plain text secrets in between', async () => {
    const secret = randomBytes(15).toString('hex');
    const assets = Array.from({ length: 8000 }, (_, i) =>
      material(`key ${i}`, { type: 'public-key', id: `a-key-with-the-number-${i}`, size: 2048 }, `host-${i}`),
    );
    const planted = material('planted', { type: 'password', value: secret });
    const before = await countOf('asset');
    const { headers, body } = await send(bom([...assets, planted], about('large')));
    const location = headers.get('location') ?? '';
    const kept = await stage.sql<{ text: string }>(
      `SELECT encode(sealed, 'escape') AS text FROM inventory_import_part`,
    );
    expect(kept.some(({ text }) => text.includes(secret))).toBe(false);
    while ((await follow(location)).body.status === 'WAITING') await sleep(20);
    await service.kill('SIGKILL');
    expect([before, (before ?? 0) + 8001]).toContain(await countOf('asset'));
    service = await stage.start({ role: 'api' });
    const end = await ended(location);
    expect(end).toMatchObject({ status: 'DONE', outcome: { received: 8001, created: 8001 } });
    expect(end.attempts).toBeGreaterThan(1);
    expect(await countOf('asset')).toBe((before ?? 0) + 8001);
    expect(await countOf('inventory_import_part')).toBe(0);
    expect(body.bytes).toBeGreaterThan(1_000_000);
  });
});
