import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call('GET', path, { key: apiKey, headers });
const ingest = (body: unknown): Promise<Answer> => service.call('POST', '/api/ingest', { key: apiKey, body });
async function named(name: string): Promise<Answer['body']> {
  const { body } = await get(`/api/assets?name=${encodeURIComponent(name)}`);
  return body.items.find((item: { name: string }) => item.name === name);
}

/** A document about a shop that uses RSA through a key, and a library that provides MD5 without using it. */
const SHOP = bom(
  [
    { type: 'application', 'bom-ref': 'shop', name: 'shop' },
    { type: 'library', 'bom-ref': 'hashes', name: 'hashes' },
    algorithm({
      name: 'RSA-2048',
      ref: 'rsa',
      properties: { primitive: 'signature', parameterSetIdentifier: '2048' },
      at: 'a.ts',
    }),
    algorithm({ name: 'MD5', ref: 'md5', properties: { primitive: 'hash' } }),
    algorithm({ name: 'ML-KEM-1024', ref: 'kem', properties: { primitive: 'kem' } }),
    material(
      'signing key',
      { type: 'private-key', id: 'signing-key-of-the-shop', algorithmRef: 'rsa', state: 'active' },
      'b.ts',
    ),
    {
      type: 'cryptographic-asset',
      'bom-ref': 'cert',
      name: 'shop.example.com',
      cryptoProperties: {
        assetType: 'certificate',
        certificateProperties: {
          subjectName: 'CN=shop.example.com',
          issuerName: 'CN=CA',
          notValidBefore: '2020-01-01T00:00:00Z',
          notValidAfter: '2021-01-01T00:00:00Z',
          signatureAlgorithmRef: 'rsa',
          subjectPublicKeyRef: 'signing key',
        },
      },
    },
  ],
  {
    ...about('shop repository'),
    dependencies: [
      { ref: 'shop', dependsOn: ['hashes', 'signing key'] },
      { ref: 'hashes', provides: ['md5'] },
      { ref: 'cert', dependsOn: ['signing key'] },
      { ref: 'signing key', dependsOn: ['rsa', 'cert'] },
    ],
  },
);

describe('a classified inventory', () => {
  beforeAll(() => ingest(SHOP));

  it.each([
    ['RSA-2048', { level: 'MEDIUM', rule: 'Q-RSA-SIG-112', quantum: 'quantum-vulnerable', family: 'RSA', bits: 2048 }],
    ['MD5', { level: 'HIGH', rule: 'D-MD', classical: 'broken' }],
    ['ML-KEM-1024', { level: 'NONE', rule: 'P-MLKEM-1024', quantum: 'pq-standard' }],
    ['signing key', { level: 'MEDIUM', rule: 'Q-RSA-SIG-112' }],
    [
      'shop.example.com',
      { level: 'MEDIUM', overall: 'HIGH', lifecycle: { status: 'expired', level: 'HIGH', rule: 'X-EXPIRED' } },
    ],
    ['shop', { level: 'MEDIUM', rule: 'Q-RSA-SIG-112' }],
    ['hashes', { level: null, quantum: null }],
  ])('rates %s', async (name, verdict) => {
    expect(await named(name)).toMatchObject(verdict);
  });

  it('explains a verdict: rule, reason, standard, deadlines and the path to the algorithm', async () => {
    const { id } = await named('signing key');
    const { body } = await get(`/api/assets/${id}`);
    expect(body.resolvedBy).toEqual([{ via: 'reference', assetId: (await named('RSA-2048')).id }]);
    expect(body.findings[0]).toMatchObject({
      rule: 'Q-RSA-SIG-112',
      reason: expect.stringMatching(/\w/),
      standards: [expect.stringContaining('NIST IR 8547')],
      deadlines: expect.arrayContaining([
        expect.objectContaining({ date: '2030-12-31', state: 'deprecated', draft: true, binding: false }),
      ]),
      subject: 'RSA-2048',
    });
  });

  it.each([
    ['2030-12-30', undefined],
    ['2031-01-01', 'deprecated'],
    ['2036-01-01', 'disallowed'],
  ])('rates RSA-2048 as of %s', async (day, state) => {
    const { body } = await get(`/api/assets/${(await named('RSA-2048')).id}?asOf=${day}`);
    const nist = body.standing.find(({ jurisdiction }: { jurisdiction: string }) => jurisdiction === 'NIST');
    expect(nist?.state).toBe(state);
  });

  it('lists the locations of an asset', async () => {
    const { body } = await get(`/api/assets/${(await named('RSA-2048')).id}/occurrences`);
    expect(body.items).toMatchObject([{ source: 'shop repository', location: 'a.ts', line: 7, missed: 0 }]);
  });

  it('lists what fails with an algorithm, through cycles, without assets that only provide it', async () => {
    const radius = async (name: string) => {
      const { body } = await get(`/api/relationships/${(await named(name)).id}/blast-radius`);
      return body.items.map((item: { name: string; depth: number }) => `${item.depth} ${item.name}`).sort();
    };
    expect(await radius('RSA-2048')).toEqual(['1 shop.example.com', '1 signing key', '2 shop']);
    expect(await radius('MD5')).toEqual([]);
    const cut = await get(`/api/relationships/${(await named('RSA-2048')).id}/blast-radius?limit=1`);
    expect(cut.body).toMatchObject({ items: [{}], truncated: true });
  });

  it('returns neighbors, and the shortest path between two assets', async () => {
    const [shop, rsa] = [await named('shop'), await named('RSA-2048')];
    const { body } = await get(`/api/relationships/${shop.id}/neighbours`);
    expect(body.items.map(({ toName }: { toName: string }) => toName).sort()).toEqual(['hashes', 'signing key']);
    const path = await get(`/api/relationships/path?from=${shop.id}&to=${rsa.id}`);
    expect(path.body.items.map(({ name }: { name: string }) => name)).toEqual(['signing key', 'RSA-2048']);
  });

  it('returns the rules with their sources', async () => {
    const { body } = await get('/api/quantum-risk/rules');
    expect(body.items.length).toBeGreaterThan(106);
    const rule = body.items.find(({ id }: { id: string }) => id === 'Q-RSA-SIG-112');
    expect(rule).toMatchObject({ verified: true, standards: [expect.any(String)] });
  });

  it('returns counts that match the rows', async () => {
    const { body } = await get('/api/analytics/summary');
    const rows = await stage.sql(
      `SELECT kind AS value, count(*)::int AS count FROM asset GROUP BY kind ORDER BY kind COLLATE "C"`,
    );
    expect(body.kinds.map(({ value, count }: { value: string; count: number }) => ({ value, count }))).toEqual(rows);
    expect(body).toMatchObject({ total: 7, expired: 1, levels: { MEDIUM: 4, HIGH: 1, NONE: 1 } });
    expect((await get('/api/analytics/families')).body.items).toContainEqual(
      expect.objectContaining({ value: 'RSA', count: 4 }),
    );
    expect((await get('/api/analytics/expiry')).body).toEqual({ items: [] });
  });
});

describe('an asset list', () => {
  beforeAll(() =>
    ingest(
      bom(
        Array.from({ length: 120 }, (_, i) =>
          algorithm({ name: `Serpent-${i}`, properties: { primitive: 'block-cipher' } }),
        ),
        about('many'),
      ),
    ),
  );

  it.each(['id', 'name', '-level'])('is paginated in the order of %s without gaps or repetitions', async (sort) => {
    const seen: string[] = [];
    let next = '';
    do {
      const { body } = await get(`/api/assets?limit=50&sort=${sort}&kind=algorithm${next}`);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      next = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (next !== '');
    const [row] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM asset WHERE kind = 'algorithm'`,
    );
    expect({ all: seen.length, different: new Set(seen).size }).toEqual({ all: row?.count, different: row?.count });
  });

  it.each([
    ['family=Serpent&total=true&limit=1', 120],
    ['source=many&total=true&limit=1', 120],
    ['minLevel=CRITICAL&total=true', 0],
    ['location=a.ts&total=true', 1],
    ['expiresBefore=2022-01-01&total=true', 1],
  ])('is filtered by %s', async (query, count) => {
    expect((await get(`/api/assets?${query}`)).body.total).toEqual({ count, type: 'EXACT' });
  });

  it.each([
    ['level=WORST', 400],
    ['colour=red', 400],
    ['cursor=forged', 400],
    ['limit=0', 400],
  ])('rejects %s', async (query, status) => {
    expect((await get(`/api/assets?${query}`)).status).toBe(status);
  });

  it('requires the scope, and returns 404 for an unknown ID', async () => {
    expect((await service.call('GET', '/api/assets')).status).toBe(401);
    expect((await get('/api/assets/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11')).body).toMatchObject({
      status: 404,
      code: 'asset.missing',
    });
  });
});

it('a blast radius counts an asset that uses an algorithm in two ways once, whatever the limit', async () => {
  const refs = Array.from({ length: 30 }, (_, i) => `tape ${i}`);
  const keys = refs.map((ref) => material(ref, { type: 'secret-key', algorithmRef: 'camellia' }, `${ref}.key`));
  const components = [algorithm({ name: 'Camellia-256', ref: 'camellia' }), ...keys];
  const dependencies = refs.map((ref) => ({ ref, dependsOn: ['camellia'] }));
  await ingest(bom(components, { ...about('tapes'), dependencies }));
  const { id } = await named('Camellia-256');
  const radius = async (limit: number) => {
    const { body } = await get(`/api/relationships/${id}/blast-radius?limit=${limit}`);
    return [new Set(body.items.map((item: { id: string }) => item.id)).size, body.items.length, body.truncated];
  };
  expect(await radius(20)).toEqual([20, 20, true]);
  expect(await radius(29)).toEqual([29, 29, true]);
  expect(await radius(30)).toEqual([30, 30, false]);
  expect(await radius(45)).toEqual([30, 30, false]);
});
