import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  const components = [
    algorithm({ name: 'RSA-2048', properties: { primitive: 'signature' }, at: 'db1.example.com:5432' }),
    algorithm({ name: 'RSA-4096', properties: { primitive: 'signature' }, at: 'db2.example.com:5432' }),
    algorithm({ name: 'AES-256-GCM', at: 'web.example.com:443' }),
    algorithm({ name: '=MD5()', at: 'web.example.com:443' }),
    material('old key', { type: 'public-key', id: 'the-old-key-of-the-shop', expirationDate: '2021-01-01T00:00:00Z' }),
  ];
  await call('POST', '/api/ingest', bom(components, about('shop')));
});
afterAll(() => stage.close());

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(method, path, { key: apiKey, headers, ...(body === undefined ? {} : { body }) });
const asked = (q: string) => call('GET', `/api/assets?sort=name&q=${encodeURIComponent(q)}`);
async function named(name: string): Promise<Answer['body']> {
  return (await asked(`name="${name}"`)).body.items[0];
}

describe('an inventory query', () => {
  it.each([
    ['family=RSA and bits<3072', ['RSA-2048']],
    ['host=db*', ['RSA-2048', 'RSA-4096']],
    ['source=shop and not family=RSA', ['=MD5()', 'AES-256-GCM', 'old key']],
    ['level=NONE or level>=HIGH', ['=MD5()', 'AES-256-GCM']],
    ['notAfter<+0d', ['old key']],
    ['lastSeen<-1d', []],
    ['firstSeen>-1d and kind=related-crypto-material', ['old key']],
    ['family in (AES, MD5)', ['=MD5()', 'AES-256-GCM']],
    ['name="RSA-2048" or name="\'; DROP TABLE asset; --"', ['RSA-2048']],
  ])('matches %s', async (q, names) => {
    const { status, body } = await asked(q);
    expect({ status, names: body.items?.map(({ name }: { name: string }) => name) }).toEqual({ status: 200, names });
  });

  it('with a syntax error is rejected with its column', async () => {
    expect((await asked('family=RSA and bits<many')).body).toMatchObject({
      status: 400,
      code: 'query.invalid',
      errors: [{ pointer: 'q', column: 21, detail: 'must be an integer' }],
    });
  });
});

/** Simulates a large inventory by setting the statistics that ANALYZE would write, and waits until the worker has created the search indexes. */
async function workerMakesIndexes(): Promise<void> {
  await stage.sql(`UPDATE pg_class SET reltuples = 300000 WHERE relname IN ('asset', 'asset_occurrence')`);
  await stage.start({ role: 'worker' });
  await until('the search indexes are made', 30, async () => {
    const made = await stage.sql(
      `SELECT FROM pg_index WHERE indisvalid AND indexrelid::regclass::text ~ '^asset_(?:name_text|occurrence_location_(?:text|start))$'`,
    );
    return made.length === 3;
  });
}

describe.each([
  { inventory: 'small, whose texts are read', grow: () => Promise.resolve() },
  { inventory: 'large, whose texts a worker has indexed', grow: workerMakesIndexes },
])('a substring search in an inventory that is $inventory,', ({ grow }) => {
  beforeAll(async () => {
    await grow();
    const odd = ['100%_done', '100 per cent done', 'ключ подписи', 'schlüssel', '§', String.raw`a\b`, 'ab'];
    const components = odd.map((name, index) =>
      material(name, { type: 'token', id: `odd ${name}` }, `rack-${index}_a:/srv/100%`),
    );
    await call(
      'POST',
      '/api/ingest',
      bom([...components, material('nowhere', { type: 'token', id: 'none' })], about('odd')),
    );
  });

  it.each([
    ['name="*0%*"', ['100%_done']],
    ['name="*_d*"', ['100%_done']],
    ['name="100*done"', ['100 per cent done', '100%_done']],
    ['name=*подпис*', ['ключ подписи']],
    ['name=*юч*', ['ключ подписи']],
    ['name=*Ü*', []],
    ['name=*ü*', ['schlüssel']],
    ['name=§*', ['§']],
    [String.raw`name="*\\*"`, [String.raw`a\b`]],
    ['name=a* and source=odd', ['ab', String.raw`a\b`]],
    ['location="rack-1_*"', ['100 per cent done']],
    ['location="rack-1-a*"', []],
    ['location in ("rack-0_*", "rack-6_a:/srv/100%")', ['100%_done', 'ab']],
    ['location="*100\\\\*"', []],
    ['location="" and source=odd', ['nowhere']],
    ['not location=* and source=odd', []],
    ['source=od* and not location=rack*', ['nowhere']],
  ])('is literal: %s', async (q, names) => {
    const { status, body } = await asked(`(${q}) and source=odd`);
    expect({ status, names: body.items?.map(({ name }: { name: string }) => name).toSorted() }).toEqual({
      status: 200,
      names: names.toSorted(),
    });
  });

  it('is a prefix search if the filter says so', async () => {
    const names = async (filter: string) =>
      (await call('GET', `/api/assets?source=odd&${filter}`)).body.items.map(({ name }: { name: string }) => name);
    expect(await names(`name=${encodeURIComponent('100%')}`)).toEqual(['100%_done']);
    expect(await names(`location=${encodeURIComponent('rack-1_')}`)).toEqual(['100 per cent done']);
    expect(await names(`name=${encodeURIComponent('*')}`)).toEqual([]);
  });
});

describe('owner and labels', () => {
  it('can be set by people, searched, counted, and are kept when a document arrives', async () => {
    const { id, version } = await named('RSA-2048');
    const change = { owner: 'payments', labels: ['pci', 'legacy'] };
    const { status, body } = await call('PATCH', `/api/assets/${id}`, change, { 'if-match': `"${version}"` });
    expect({ status, ...body }).toMatchObject({ status: 200, ...change, version: version + 1 });
    await call(
      'POST',
      '/api/ingest',
      bom([algorithm({ name: 'RSA-2048', properties: { primitive: 'signature' } })], about('other')),
    );
    for (const query of [
      'owner=payments',
      'label=pc*',
      'label in (none, pci)',
      'label in (none, "*ega*")',
      'label=legacy and not owner=""',
    ])
      expect((await asked(query)).body.items.map(({ name }: { name: string }) => name)).toEqual(['RSA-2048']);
    const counts = await stage.sql(
      `SELECT value, sum(count)::int AS count FROM inventory_tally WHERE dimension = 'owner' GROUP BY value ORDER BY value COLLATE "C"`,
    );
    expect(counts).toEqual([
      { value: '', count: 12 },
      { value: 'payments', count: 1 },
    ]);
  });

  it('are not updated without the current version, nor by read-only users', async () => {
    const { id } = await named('RSA-4096');
    expect((await call('PATCH', `/api/assets/${id}`, { owner: 'x' })).status).toBe(428);
    expect((await call('PATCH', `/api/assets/${id}`, { owner: 'x' }, { 'if-match': '"9"' })).status).toBe(412);
    const { key } = await newApiKey(service, apiKey, ['inventory:read']);
    const answer = await service.call('PATCH', `/api/assets/${id}`, {
      key,
      body: { owner: 'x' },
      headers: { 'if-match': '"1"' },
    });
    expect(answer.status).toBe(403);
  });
});

describe('CSV export', () => {
  it('has a line for each matching asset, and no cell that a spreadsheet would execute', async () => {
    const response = await fetch(`${service.url}/api/export/csv?q=${encodeURIComponent('kind=algorithm')}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const [head, ...lines] = (await response.text()).trim().split('\n');
    expect(head?.split(',').slice(0, 6)).toEqual(['id', 'kind', 'name', 'family', 'bits', 'level']);
    const [rows] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM asset WHERE kind = 'algorithm'`,
    );
    expect(lines).toHaveLength(rows?.count ?? -1);
    expect(lines.find((line) => line.includes('MD5()'))).toContain(",'=MD5(),");
  });

  it('has no formula after cell separators of other locales either', async () => {
    const names = ['semicolon;=1+1', 'tab\t@x', 'both;\t=1+1', 'harmless; text-with=signs'];
    await call(
      'POST',
      '/api/ingest',
      bom(
        names.map((name) => algorithm({ name })),
        about('cells'),
      ),
    );
    const response = await fetch(`${service.url}/api/export/csv?source=cells`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const cells = (await response.text()).split('\n').map((line) => line.split(',')[2]);
    for (const cell of ["semicolon;'=1+1", "tab\t'@x", "both;\t'=1+1", 'harmless; text-with=signs'])
      expect(cells).toContain(cell);
  });
});

describe('CSV for Excel', () => {
  const bytesOf = async (parameter: string) => {
    const response = await fetch(`${service.url}/api/export/csv?${parameter}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return Buffer.from(await response.arrayBuffer()).toString();
  };

  it('starts with a byte order mark, unless a program declines it', async () => {
    for (const parameter of ['', 'bom=1', 'bom=true'])
      expect((await bytesOf(parameter)).startsWith('\uFEFFid,')).toBe(true);
    for (const parameter of ['bom=0', 'bom=false']) expect((await bytesOf(parameter)).startsWith('id,')).toBe(true);
  });

  it('has the same RFC 3339 UTC times as JSON', async () => {
    const [head = '', row = ''] = (await bytesOf('bom=0&q=name!="*,*"')).split('\n');
    const firstSeen = row.split(',')[head.split(',').indexOf('firstSeen')];
    const { body } = await call('GET', `/api/assets/${row.split(',')[0]}`);
    expect(firstSeen).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(firstSeen).toBe(body.firstSeen);
  });
});

describe('a CSV cell', () => {
  it.each(['=1+1', '+1', '-1', '@SUM(1)', '\t=1', '\r=1', '\n=1', '\uff1d1', '\uff0b1', '\uff0d1', '\uff201'])(
    'is not a formula if it starts like %j',
    async (start) => {
      const source = `cells ${start.codePointAt(0)} ${start.length}`;
      const name = `${start} "a",b\nc`;
      expect((await call('POST', '/api/ingest', bom([algorithm({ name })], about(source)))).status).toBe(200);
      const found = await stage.sql<{ name: string }>(
        `SELECT name FROM asset WHERE name LIKE '%"a",b%' ORDER BY first_seen DESC`,
      );
      const response = await fetch(`${service.url}/api/export/csv?q=${encodeURIComponent(`source="${source}"`)}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      const [kept] = found;
      // According to RFC 4180, quotes are doubled, and quoted text may contain commas and line breaks.
      const quoted = kept?.name.replaceAll('"', '""').replace('\t=', "\t'=");
      expect(await response.text()).toContain(`"'${quoted}"`);
      expect(kept?.name.endsWith('"a",b\nc')).toBe(true);
    },
  );
});

describe('a saved query', () => {
  it('can be created, found, updated and deleted', async () => {
    const order = { name: 'worst RSA', q: 'family=RSA', sort: '-level' };
    const made = await call('POST', '/api/asset-views', order, { 'idempotency-key': 'view-1' });
    expect(made.body).toMatchObject({ ...order, version: 1 });
    expect((await call('POST', '/api/asset-views', order, { 'idempotency-key': 'view-1' })).body.id).toBe(made.body.id);
    expect((await call('POST', '/api/asset-views', order)).body).toMatchObject({ status: 409, code: 'view.name' });
    expect((await call('GET', made.body.url)).body.items).toHaveLength(2);
    const path = `/api/asset-views/${made.body.id}`;
    const changed = await call('PUT', path, { ...order, q: 'family=AES' }, { 'if-match': '"1"' });
    expect(changed.body).toMatchObject({ q: 'family=AES', version: 2 });
    expect((await call('PUT', path, order, { 'if-match': '"1"' })).status).toBe(412);
    expect((await call('POST', '/api/asset-views', { name: 'bad', q: 'bits=x' })).body.code).toBe('query.invalid');
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('GET', path)).body.code).toBe('view.missing');
  });
});
