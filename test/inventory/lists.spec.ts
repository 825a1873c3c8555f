import { afterAll, beforeAll, expect, it } from 'vitest';
import { LEVELS } from '../../src/inventory/model/risk-verdict.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

/** Number of keys, which exceeds the number of rows scanned before the list falls back to another query plan. */
const KEYS = 3500;

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  const named = ['3DES', 'AES-128-GCM', 'AES-256-GCM', 'MD5', 'RSA-1024', 'RSA-2048', 'z1', 'z2'];
  const algorithms = named.map((name) => algorithm({ name }));
  const keys = Array.from({ length: KEYS }, (_, i) => material(`key ${i}`, { type: 'public-key', id: `key ${i}` }));
  const { status } = await service.call('POST', '/api/ingest', {
    key: apiKey,
    body: bom([...algorithms, ...keys], about('shop')),
  });
  expect(status).toBe(200);
});
afterAll(() => stage.close());

interface Item {
  readonly id: string;
  readonly name: string;
  readonly level: (typeof LEVELS)[number] | null;
}

/** Returns all items of a list by following the cursor. */
async function items(query: string): Promise<Item[]> {
  const found: Item[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const from = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await service.call('GET', `/api/assets?${query}${from}`, { key: apiKey });
    expect(status).toBe(200);
    found.push(...body.items);
    cursor = body.nextCursor;
  }
  return found;
}
const names = async (query: string) => (await items(query)).map(({ name }) => name);

it.each([
  [
    'some early and some late',
    'kind=algorithm',
    ['3DES', 'AES-128-GCM', 'AES-256-GCM', 'MD5', 'RSA-1024', 'RSA-2048', 'z1', 'z2'],
  ],
  ['late ones only', 'kind=algorithm&name=z', ['z1', 'z2']],
  ['none', 'kind=certificate', []],
  ['a family', 'family=AES', ['AES-128-GCM', 'AES-256-GCM']],
  [
    'a query',
    `q=${encodeURIComponent('kind=algorithm and not (family=AES or family=RSA) and name!=z*')}`,
    ['3DES', 'MD5'],
  ],
  [
    'a query that verdicts alone do not decide',
    `q=${encodeURIComponent('family=MD5 or name=z*')}`,
    ['MD5', 'z1', 'z2'],
  ],
  ['a rule that nobody has', 'rule=NO-SUCH-RULE', []],
])('rare matches are found among many assets: %s', async (_, filter, found) => {
  expect(await names(`sort=name&${filter}`)).toEqual(found);
  expect(await names(`sort=name&limit=2&${filter}`)).toEqual(found);
  expect((await names(filter)).toSorted()).toEqual(found);
});

it('every asset is listed on one page', async () => {
  const all = await items('limit=200');
  expect(all).toHaveLength(KEYS + 8);
  expect(all.map(({ id }) => id)).toEqual([...new Set(all.map(({ id }) => id))].toSorted());
});

it.each([
  ['all', '', 150],
  ['few', '&kind=algorithm', 3],
])('the worst assets are listed first, paginated: %s', async (_, filter, limit) => {
  const judged = (await items(`limit=200${filter}`)).filter(({ level }) => level !== null);
  expect(new Set(judged.map(({ level }) => level)).size).toBeGreaterThan(2);
  const place = ({ level, id }: Item) => `${level === null ? '' : LEVELS.indexOf(level)} ${id}`;
  const worstFirst = judged.map(place).toSorted().toReversed();
  expect((await items(`sort=-level&limit=${limit}${filter}`)).map(place)).toEqual(worstFirst);
});
