import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';

const UUID = '3e671687-395b-41f5-a30f-a58921a69b79';

let stage: Stage;
let service: Service;
let apiKey: string;

const get = (path: string): Promise<Answer> => service.call('GET', path, { key: apiKey });
const resolve = async (link: string) => (await get(`/api/bom-link/resolve?link=${encodeURIComponent(link)}`)).body;
const ingest = (version: number, components: object[]): Promise<Answer> =>
  service.call('POST', '/api/ingest', {
    key: apiKey,
    body: { ...bom(components, about('shop')), serialNumber: `urn:uuid:${UUID}`, version },
  });

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  await ingest(1, [algorithm({ name: 'RSA-2048', ref: 'old#1' }), algorithm({ name: 'AES-256-GCM', ref: 'aes' })]);
  await ingest(2, [algorithm({ name: 'AES-256-GCM', ref: 'aes' })]);
  await ingest(3, [algorithm({ name: 'AES-256-GCM', ref: 'aes' })]);
});
afterAll(() => stage.close());

describe('a BOM-Link', () => {
  it('resolves to a document and its elements, including old versions', async () => {
    const document = { serialNumber: `urn:uuid:${UUID}`, source: 'shop', newestVersion: '3' };
    expect(await resolve(`urn:cdx:${UUID}/1`)).toMatchObject({ document: { ...document, version: '1' } });
    expect(await resolve(`urn:cdx:${UUID}/1#old%231`)).toMatchObject({
      link: `urn:cdx:${UUID}/1#old%231`,
      asset: { name: 'RSA-2048', state: 'stale' },
    });
    for (const version of [2, 3])
      expect(await resolve(`urn:cdx:${UUID}/${version}#aes`)).toMatchObject({ asset: { name: 'AES-256-GCM' } });
    expect(await resolve(`urn:cdx:${UUID}/2#old%231`)).toMatchObject({ status: 404, code: 'bom-link.missing' });
    expect(await resolve(`urn:cdx:${UUID}/4`)).toMatchObject({ status: 404, code: 'bom-link.missing' });
  });

  it.each([`urn:cdx:${UUID.toUpperCase()}/1`, `urn:cdx:${UUID}/0`, `urn:uuid:${UUID}`, `urn:cdx:${UUID}/1#%`])(
    '%s is rejected',
    async (link) => {
      expect(await resolve(link)).toMatchObject({ status: 400, code: 'bom-link.invalid' });
    },
  );

  it('is created, and listed by document and by asset', async () => {
    const body = { serialNumber: `urn:uuid:${UUID}`, version: '1', ref: 'old#1' };
    const made = await service.call('POST', '/api/bom-link', { key: apiKey, body });
    expect({ status: made.status, link: made.body.link }).toEqual({ status: 200, link: `urn:cdx:${UUID}/1#old%231` });
    const { items } = (await get('/api/bom-link/documents?limit=2')).body;
    expect(items.map(({ link }: { link: string }) => link)).toEqual([`urn:cdx:${UUID}/3`, `urn:cdx:${UUID}/2`]);
    const [aes] = (await get('/api/assets?family=AES')).body.items;
    const links = (await get(`/api/bom-link/assets/${aes.id}`)).body.items;
    expect(links.map(({ link }: { link: string }) => link)).toEqual([`urn:cdx:${UUID}/3#aes`]);
  });

  it('resolves to the source that used the serial number first, whoever sends another document with it', async () => {
    const other = {
      ...bom([algorithm({ name: 'ML-KEM-768', ref: 'aes' })], about('other')),
      serialNumber: `urn:uuid:${UUID}`,
    };
    for (const version of [3, 999])
      expect((await service.call('POST', '/api/ingest', { key: apiKey, body: { ...other, version } })).status).toBe(
        200,
      );
    const { document, asset } = await resolve(`urn:cdx:${UUID}/3#aes`);
    expect(document).toMatchObject({ source: 'shop', newestVersion: '3' });
    expect(asset.name).toBe('AES-256-GCM');
    expect(await resolve(`urn:cdx:${UUID}/999`)).toMatchObject({ status: 404, code: 'bom-link.missing' });
    const { body: exported } = await get('/api/export/cyclonedx');
    const copy = { ...other, serialNumber: exported.serialNumber, version: 1 };
    expect((await service.call('POST', '/api/ingest', { key: apiKey, body: copy })).status).toBe(200);
    expect((await resolve(`urn:cdx:${exported.serialNumber.slice('urn:uuid:'.length)}/1`)).document.source).toBe(
      'Sealwright',
    );
  });

  it('resolves into a created export', async () => {
    const { body } = await get('/api/export/cyclonedx');
    const [component] = body.components;
    const link = `urn:cdx:${body.serialNumber.slice('urn:uuid:'.length)}/1#${component['bom-ref']}`;
    expect(await resolve(link)).toMatchObject({ link, asset: { id: component['bom-ref'], name: component.name } });
  });
});
