import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

interface Edge {
  readonly fromName: string;
  readonly kind: string;
  readonly toName: string;
}

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const get = (path: string): Promise<Answer> => service.call('GET', path, { key: apiKey });
async function ingest(body: object): Promise<void> {
  const { status } = await service.call('POST', '/api/ingest', { key: apiKey, body });
  expect(status).toBe(200);
}
async function idOf(name: string): Promise<string> {
  const [row] = await stage.sql<{ id: string }>('SELECT id FROM asset WHERE name = $1', [name]);
  return row?.id ?? '';
}
const named = (items: Edge[]) => items.map(({ fromName, kind, toName }) => `${fromName} ${kind} ${toName}`).sort();
const neighbours = async (name: string, more = ''): Promise<string[]> =>
  named((await get(`/api/relationships/${await idOf(name)}/neighbours?${more}`)).body.items);
const radius = async (name: string): Promise<string[]> => {
  const { body } = await get(`/api/relationships/${await idOf(name)}/blast-radius`);
  return body.items.map((item: { viaKind: string; name: string }) => `${item.viaKind} ${item.name}`).sort();
};
/** Returns the relationship rows, including `xmin`, which changes on every update. */
const stored = () => stage.sql('SELECT r.*, r.xmin FROM asset_relationship r ORDER BY from_id, to_id, source_id');

const CAMELLIA = algorithm({ name: 'Camellia-256', ref: 'camellia' });
const KEY = material('tape', { type: 'secret-key', id: 'key-of-the-tape', algorithmRef: 'camellia' });
const tapes = (dependency: object, timestamp: string) =>
  bom([CAMELLIA, KEY], { ...about('tapes', timestamp), dependencies: [{ ref: 'tape', ...dependency }] });

describe('an edge with several kinds', () => {
  beforeAll(() => ingest(tapes({ dependsOn: ['camellia'], provides: ['camellia'] }, '2026-01-01T00:00:00Z')));

  const KINDS = ['algorithm', 'dependsOn', 'provides'];
  const TOLD = KINDS.map((kind) => `tape ${kind} Camellia-256`);

  it('is one row, and listed once for each kind', async () => {
    expect(await stored()).toHaveLength(1);
    expect(await neighbours('tape')).toEqual(TOLD);
    expect(await neighbours('Camellia-256', 'direction=in')).toEqual(TOLD);
    expect(await neighbours('Camellia-256')).toEqual([]);
  });

  it.each(KINDS)('is found by %s', async (kind) => {
    const told = [`tape ${kind} Camellia-256`];
    expect(await neighbours('tape', `kind=${kind}`)).toEqual(told);
    expect(named((await get(`/api/relationships?kind=${kind}`)).body.items)).toEqual(told);
  });

  it('is not found by a kind that it does not have', async () => {
    expect(await neighbours('tape', 'kind=cipherSuite')).toEqual([]);
  });

  it('is one step in a blast radius, with the most significant kind', async () => {
    expect(await radius('Camellia-256')).toEqual(['algorithm tape']);
  });
});

describe('a newer document', () => {
  it('with the same content writes no edge row', async () => {
    const before = await stored();
    await ingest(tapes({ dependsOn: ['camellia'], provides: ['camellia'] }, '2026-01-02T00:00:00Z'));
    expect(await stored()).toEqual(before);
  });

  it('removes a kind that it does not contain', async () => {
    await ingest(tapes({ provides: ['camellia'] }, '2026-01-03T00:00:00Z'));
    expect(await neighbours('tape')).toEqual(['tape algorithm Camellia-256', 'tape provides Camellia-256']);
  });

  it('removes an edge that it does not contain', async () => {
    const unbound = material('tape', { type: 'secret-key', id: 'key-of-the-tape' });
    await ingest(bom([CAMELLIA, unbound], about('tapes', '2026-01-04T00:00:00Z')));
    expect(await neighbours('tape')).toEqual([]);
  });
});

describe('a partial scan', () => {
  const part = (uses: object) => ({
    source: 'probe',
    assets: [
      { component: { type: 'application', name: 'disk' }, ...uses },
      { component: algorithm({ name: 'ARIA-256', ref: 'aria' }) },
    ],
  });

  it('that only provides an algorithm does not use it', async () => {
    await ingest(part({ provides: ['aria'] }));
    expect(await neighbours('disk')).toEqual(['disk provides ARIA-256']);
    expect(await radius('ARIA-256')).toEqual([]);
  });

  it('adds a kind to those of earlier parts', async () => {
    await ingest(part({ dependsOn: ['aria'] }));
    expect(await neighbours('disk')).toEqual(['disk dependsOn ARIA-256', 'disk provides ARIA-256']);
    expect(await radius('ARIA-256')).toEqual(['dependsOn disk']);
  });

  it('with less content writes no edge row', async () => {
    const before = await stored();
    await ingest(part({ provides: ['aria'] }));
    expect(await stored()).toEqual(before);
  });
});

it('two sources may state different kinds of one edge, and both are listed once', async () => {
  const scan = (source: string, uses: object) => ({
    source,
    complete: true,
    assets: [
      { component: { type: 'application', name: 'mail' }, ...uses },
      { component: algorithm({ name: 'SEED-128', ref: 'seed' }) },
    ],
  });
  await ingest(scan('one', { provides: ['seed'] }));
  await ingest(scan('two', { dependsOn: ['seed'], provides: ['seed'] }));
  expect(await neighbours('mail')).toEqual(['mail dependsOn SEED-128', 'mail provides SEED-128']);
  expect(await radius('SEED-128')).toEqual(['dependsOn mail']);
  const { body } = await get('/api/export/cyclonedx');
  const seed = [await idOf('SEED-128')];
  const entry = body.dependencies.filter(({ provides }: { provides?: string[] }) => provides?.[0] === seed[0]);
  expect(entry).toEqual([{ ref: await idOf('mail'), dependsOn: seed, provides: seed }]);
  await ingest(scan('two', {}));
  expect(await neighbours('mail')).toEqual(['mail provides SEED-128']);
});

it('an export omits edges to assets that no longer exist', async () => {
  const [mail, seed] = [await idOf('mail'), await idOf('SEED-128')];
  const entries = async () => {
    const { body } = await get('/api/export/cyclonedx');
    return body.dependencies.filter(({ ref }: { ref: string }) => ref === mail || ref === seed);
  };
  expect(await entries()).toContainEqual({ ref: mail, provides: [seed] });
  await stage.sql(`UPDATE asset SET state = 'stale' WHERE id = $1`, [seed]);
  expect(await entries()).toEqual([{ ref: mail }]);
});

it.each(['?', 'ID/neighbours?direction=in&'])('edges are paginated (%s)', async (path) => {
  const refs = Array.from({ length: 9 }, (_, i) => `user ${i}`);
  const users = refs.map((ref) => ({ type: 'application', 'bom-ref': ref, name: ref }));
  const dependencies = refs.map((ref) => ({ ref, dependsOn: ['idea'], provides: ['idea'] }));
  await ingest(bom([algorithm({ name: 'IDEA', ref: 'idea' }), ...users], { ...about('users'), dependencies }));
  const address = `/api/relationships${path.replace('ID', `/${await idOf('IDEA')}`)}`;
  const { body: whole } = await get(address);
  const seen: Edge[] = [];
  let next = '';
  do {
    const { body } = await get(`${address}limit=4${next}`);
    seen.push(...body.items);
    next = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
  } while (next !== '');
  expect(seen.length).toBeGreaterThanOrEqual(18);
  expect(seen).toEqual(whole.items);
});

// This test runs last, because the tests above count pages of all edges.
describe('the blast radius of a widely used algorithm', () => {
  const BADGES = 450;
  beforeAll(() => {
    const badges = Array.from({ length: BADGES }, (_, i) =>
      material(`badge-${i}`, { type: 'secret-key', id: `key-of-the-badge-${i}`, algorithmRef: 'serpent' }),
    );
    const door = { type: 'application', 'bom-ref': 'door', name: 'door' };
    const house = { type: 'application', 'bom-ref': 'house', name: 'house' };
    const dependencies = [
      { ref: 'door', dependsOn: ['badge-7', 'badge-300'] },
      { ref: 'house', dependsOn: ['door', 'badge-7'] },
      { ref: 'serpent', dependsOn: ['house'] },
    ];
    const parts = [algorithm({ name: 'Serpent-256', ref: 'serpent' }), ...badges, door, house];
    return ingest(bom(parts, { ...about('doors', '2026-01-01T00:00:00Z'), dependencies }));
  });

  const reach = async (limit: number) =>
    (await get(`/api/relationships/${await idOf('Serpent-256')}/blast-radius?limit=${limit}`)).body;

  it('contains each user once, nearest first, and stops at cycles', async () => {
    const { items, truncated } = await reach(1000);
    expect(truncated).toBe(false);
    expect(items).toHaveLength(BADGES + 2);
    expect(new Set(items.map(({ id }: Answer['body']) => id)).size).toBe(BADGES + 2);
    expect(items.map(({ depth }: Answer['body']) => depth)).toEqual([...Array(BADGES).fill(1), 2, 2]);
    const badges = items.slice(0, BADGES);
    const badge = badges.find(({ name }: Answer['body']) => name === 'badge-7');
    expect(badge).toMatchObject({ kind: 'related-crypto-material', viaKind: 'algorithm' });
    expect(items.at(-1)).toMatchObject({ kind: 'component', viaKind: 'dependsOn' });
    expect(badges.map(({ id }: Answer['body']) => id)).toContain(items.at(-1).viaId);
  });

  it.each([1, 200, 201, BADGES, BADGES + 1])('is truncated after %i', async (limit) => {
    const { items, truncated } = await reach(limit);
    expect({ count: items.length, truncated }).toEqual({ count: limit, truncated: true });
    expect(items).toEqual((await reach(1000)).items.slice(0, limit));
  });

  it('includes the path step by step', async () => {
    const [from, to] = [await idOf('house'), await idOf('Serpent-256')];
    const { body } = await get(`/api/relationships/path?from=${from}&to=${to}`);
    expect(body.items).toMatchObject([
      { name: 'badge-7', depth: 1, viaId: from, viaKind: 'dependsOn' },
      { name: 'Serpent-256', depth: 2, viaId: await idOf('badge-7'), viaKind: 'algorithm' },
    ]);
  });
});
