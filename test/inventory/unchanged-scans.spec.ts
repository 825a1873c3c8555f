import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MISSED_UNTIL_RESOLVED } from '../../src/inventory/model/asset-kind.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

const PUSHES = 200;
/** Maximum growth of the source table in bytes per push, until free space within the table is reused. */
const MAX_BYTES_PER_PUSH = 200;

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const found = (name: string) => ({
  component: { type: 'cryptographic-asset', name, cryptoProperties: { assetType: 'algorithm' } },
  occurrence: { location: `host-a:/${name}` },
});

/** Pushes as a sensor does, with a new scan ID and Idempotency-Key for each scan. */
const push = (source: string, names: readonly string[], more = {}) =>
  service.call('POST', '/api/ingest', {
    key: apiKey,
    headers: { 'idempotency-key': randomUUID() },
    body: { scanId: randomUUID(), source, complete: true, assets: names.map(found), ...more },
  });

/** Returns the number of rows and the size in bytes, including indexes, of every table. */
async function tables(): Promise<Map<string, { rows: number; bytes: number }>> {
  const names = await stage.sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`,
  );
  const parts = names.map(
    ({ name }) =>
      `SELECT '${name}' AS name, (SELECT count(*)::int FROM "${name}") AS rows, pg_total_relation_size('"${name}"')::int AS bytes`,
  );
  const rows = await stage.sql<{ name: string; rows: number; bytes: number }>(parts.join(' UNION ALL '));
  return new Map(rows.map(({ name, ...size }) => [name, size]));
}

it('a scan with unchanged results adds no row to any table, whatever its ID', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `cipher-${index}`);
  const first = await push('sensor:unchanged', names);
  expect(first.body).toMatchObject({ received: 20, created: 20 });
  await push('sensor:unchanged', names);
  const before = await tables();
  for (let count = 0; count < PUSHES; count += 1) {
    const { status, body } = await push('sensor:unchanged', names);
    expect([status, body.unchanged, body.documentId]).toEqual([200, 20, first.body.documentId]);
  }
  const after = await tables();
  const grown = [...after].filter(([name, { rows }]) => rows !== before.get(name)?.rows).map(([name]) => name);
  // A row is inserted into `job_lease` when a background job is due for the first time.
  expect(grown.filter((name) => name !== 'job_lease')).toEqual([]);
  const bytes = [...after].reduce((sum, [name, size]) => sum + size.bytes - (before.get(name)?.bytes ?? 0), 0);
  expect(bytes / PUSHES).toBeLessThan(MAX_BYTES_PER_PUSH);
  const [source] = await stage.sql<{ ago: number }>(
    `SELECT extract(epoch FROM now() - last_seen)::float8 AS ago FROM inventory_source WHERE name = 'sensor:unchanged'`,
  );
  expect(source?.ago).toBeLessThan(30);
});

it('scans with and without an ID are equivalent, and both are accepted', async () => {
  const first = await push('sensor:forms', ['a', 'b'], { scanId: undefined });
  const again = await push('sensor:forms', ['a', 'b'], { scanId: undefined });
  expect([again.body.unchanged, again.body.documentId]).toEqual([2, first.body.documentId]);
  expect((await push('sensor:forms', ['a', 'b'])).body).toMatchObject({ unchanged: 2, created: 0 });
});

it('missing assets are still resolved after enough unchanged scans', async () => {
  await push('sensor:missing', ['kept', 'gone']);
  for (let scans = 0; scans < MISSED_UNTIL_RESOLVED; scans += 1) await push('sensor:missing', ['kept']);
  const rows = await stage.sql(`SELECT name, state FROM asset WHERE name IN ('kept', 'gone') ORDER BY name`);
  expect(rows).toEqual([
    { name: 'gone', state: 'resolved' },
    { name: 'kept', state: 'active' },
  ]);
});

it('a scan with other results is stored, and so is the earlier one when it returns', async () => {
  await push('sensor:turns', ['one']);
  expect((await push('sensor:turns', ['one', 'two'])).body).toMatchObject({ created: 1, unchanged: 1 });
  expect((await push('sensor:turns', ['one'])).status).toBe(200);
  const missed = await stage.sql(
    `SELECT o.missed FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE a.name = 'two'`,
  );
  expect(missed).toEqual([{ missed: 1 }]);
});

it('an Idempotency-Key that was used for another body is still rejected', async () => {
  const key = randomUUID();
  const body = { scanId: '1', source: 'sensor:keys', complete: true, assets: [found('x')] };
  const headers = { 'idempotency-key': key };
  expect((await service.call('POST', '/api/ingest', { key: apiKey, headers, body })).status).toBe(200);
  const other = { ...body, assets: [found('y')] };
  const refused = await service.call('POST', '/api/ingest', { key: apiKey, headers, body: other });
  expect([refused.status, refused.body.code]).toEqual([422, 'idempotency.other-body']);
});
