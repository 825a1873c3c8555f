import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  await send('first', [
    algorithm({ name: 'ML-KEM-768', at: 'first/secret-project/Kem.java' }),
    algorithm({ name: 'SHA-256', at: 'first/Hash.java' }),
    algorithm({ name: 'Ed448', at: 'first/Sign.java' }),
  ]);
  await send('second', [
    algorithm({ name: 'MLKem768', at: 'second/Kem.java' }),
    algorithm({ name: 'sha256', at: 'second/Hash.java' }),
    algorithm({ name: 'ed448', at: 'second/Sign.java' }),
  ]);
});
afterAll(() => stage.close());

const send = (source: string, components: object[]) =>
  service.call('POST', '/api/ingest', { key: apiKey, body: bom(components, about(source)) });
const get = async (path: string) => (await service.call('GET', path, { key: apiKey })).body;

interface Named {
  readonly id: string;
  readonly name: string;
  readonly evidence?: { readonly occurrences: readonly { readonly location: string }[] };
}

const namesOf = async (path: string): Promise<string[]> =>
  (await get(path)).items.map(({ name }: Named) => name).toSorted();
const componentsOf = async (query: string): Promise<Named[]> =>
  (await get(`/api/export/cyclonedx?${query}`)).components;

describe('an asset with different names in its sources', () => {
  it('is one asset, shown to each source with the name in its document', async () => {
    expect(await namesOf('/api/assets?source=first')).toEqual(['Ed448', 'ML-KEM-768', 'SHA-256']);
    expect(await namesOf('/api/assets?source=second')).toEqual(['MLKem768', 'ed448', 'sha256']);
    expect(await namesOf('/api/assets?source=second&sort=-level')).toHaveLength(3);
    expect((await get('/api/assets?total=true')).total.count).toBe(3);
  });

  it.each([
    'name=MLKem768',
    'name=ML-KEM-768',
    'name=MLK',
    'q=name%3DMLKem768',
    'q=name%3DML-KEM-768',
    'q=name%3D*LKem*',
  ])('is found by both names: %s', async (query) => {
    const { items } = await get(`/api/assets?${query}`);
    expect(items).toMatchObject([{ family: 'ML-KEM', bits: 768 }]);
    expect(await componentsOf(query)).toHaveLength(1);
  });

  it('is excluded by the negation of either name', async () => {
    for (const name of ['MLKem768', 'ML-KEM-768'])
      expect((await get(`/api/assets?q=${encodeURIComponent(`name!=${name}`)}`)).items).toHaveLength(2);
  });

  it('lists the source name for each location', async () => {
    const [{ id }] = (await get('/api/assets?name=MLKem768')).items;
    const { items } = await get(`/api/assets/${id}/occurrences`);
    const said = items.map(({ source, name }: { source: string; name: string }) => `${source} ${name}`).toSorted();
    expect(said).toEqual(['first ML-KEM-768', 'second MLKem768']);
  });
});

describe('the export of one source', () => {
  it('contains only the names and locations of that source', async () => {
    const components = await componentsOf('source=second');
    expect(components.map(({ name }) => name).toSorted()).toEqual(['MLKem768', 'ed448', 'sha256']);
    const places = components.flatMap(({ evidence }) => evidence?.occurrences.map(({ location }) => location) ?? []);
    expect(places.toSorted()).toEqual(['second/Hash.java', 'second/Kem.java', 'second/Sign.java']);
    expect(JSON.stringify(components)).not.toContain('secret-project');
  });

  it('yields the same assets with its names when imported as another source', async () => {
    const document = await get('/api/export/cyclonedx?source=second');
    const body = { ...document, metadata: { component: { type: 'application', name: 'copy' } } };
    expect((await service.call('POST', '/api/ingest', { key: apiKey, body })).body).toMatchObject({ created: 0 });
    expect(await namesOf('/api/assets?source=copy')).toEqual(['MLKem768', 'ed448', 'sha256']);
  });

  it('has its names in CSV too', async () => {
    const response = await fetch(`${service.url}/api/export/csv?source=second`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const text = await response.text();
    expect(text).toContain('MLKem768');
    expect(text).not.toContain('ML-KEM-768');
  });

  it('differs from the full export, which has all locations and one name', async () => {
    const components = await componentsOf('state=active&name=ML-KEM');
    expect(components.map(({ name }) => name)).toEqual(['ML-KEM-768']);
    expect(components[0]?.evidence?.occurrences.length).toBeGreaterThanOrEqual(2);
  });
});

it('a source that changes a spelling is found by the new name only', async () => {
  await send('third', [algorithm({ name: 'ml_kem_768', at: 'third/a' })]);
  await send('third', [algorithm({ name: 'MlKem_768', at: 'third/a' })]);
  expect(await namesOf('/api/assets?source=third')).toEqual(['MlKem_768']);
  expect((await get('/api/assets?name=ml_kem_768')).items).toEqual([]);
});
