import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { officialCheck } from '../support/cyclonedx-schema.js';
import type { Answer, Service } from '../support/service.js';
import { assertProblem } from '../support/refused-calls.js';
import { until } from '../support/signing.js';
import { newApiKey } from '../support/access.js';
import { openStage, type Stage } from '../support/stage.js';
import { corpusFile, corpusFiles, hasCorpus } from './corpus.js';
import { about, algorithm, bom, inOtherOrder, material, shuffled } from './documents.js';

interface Lists {
  readonly components: unknown[];
  readonly dependencies: unknown[];
}

const FOLDERS = ['cbom', 'cbom/sbom', 'spec-1.6/resources'];

let stage: Stage;
let service: Service;
let apiKey: string;

const ingest = (body: unknown): Promise<Answer> => service.call('POST', '/api/ingest', { key: apiKey, body });

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  const ciphers = Array.from({ length: 120 }, (_, i) => algorithm({ name: `Serpent-${i}`, at: `src/${i}.ts` }));
  const key = material(
    'key@0a6e7d8c-1111-4222-8333-444455556666',
    { type: 'secret-key', algorithmRef: 'Serpent-1' },
    'src/é\\\n.ts',
  );
  await ingest(bom([...ciphers, key], about('ciphers')));
});
afterAll(() => stage.close());

describe('the inventory export', () => {
  const raw = (headers: Record<string, string> = {}, query = '') =>
    fetch(`${service.url}/api/export/cyclonedx${query}`, {
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
  const bytes = async (response: Response) => Buffer.from(await response.arrayBuffer());

  it('is byte-identical while nothing changes, and returns 304 for a current ETag', async () => {
    const [first, second] = [
      await raw({ 'accept-encoding': 'identity' }),
      await raw({ 'accept-encoding': 'identity' }),
    ];
    expect(first.headers.get('content-type')).toContain('application/vnd.cyclonedx+json');
    const etag = first.headers.get('etag') ?? '';
    expect((await bytes(first)).equals(await bytes(second))).toBe(true);
    expect((await raw({ 'accept-encoding': 'identity', 'if-none-match': etag })).status).toBe(304);
    await ingest(bom([algorithm({ name: 'KMAC256' })], about('change')));
    expect((await raw({ 'accept-encoding': 'identity', 'if-none-match': etag })).status).toBe(200);
  });

  it('is compressed on request', async () => {
    const plain = await bytes(await raw({ 'accept-encoding': 'identity' }));
    const response = await raw({ 'accept-encoding': 'gzip' });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect((await bytes(response)).equals(plain)).toBe(true);
  });

  it('can be filtered, and filter text is never SQL', async () => {
    const document = JSON.parse((await bytes(await raw({}, '?family=Serpent&kind=algorithm'))).toString());
    expect(document.components).toHaveLength(120);
    expect(document.dependencies).toHaveLength(120);
    const odd = await raw({}, `?name=${encodeURIComponent("x' OR true --$1")}`);
    expect(JSON.parse((await bytes(odd)).toString())).toMatchObject({ components: [], dependencies: [] });
  });

  it('includes the signing keys of the service on request, is valid and has another ETag', async () => {
    const [plain, own] = [await raw({}, '?kind=algorithm'), await raw({}, '?kind=algorithm&own=true')];
    expect(own.headers.get('etag')).not.toBe(plain.headers.get('etag'));
    const document = JSON.parse((await bytes(own)).toString());
    const keys = document.components.filter(
      ({ evidence }: { evidence?: { occurrences: { location: string }[] } }) =>
        evidence?.occurrences[0]?.location === 'Sealwright signing keys',
    );
    const symbols = keys.map(
      (key: { evidence: { occurrences: { symbol: string }[] } }) => key.evidence.occurrences[0]?.symbol,
    );
    expect(symbols.sort()).toEqual(['default v1', 'demo-rsa v1']);
    const refs = document.components.map((component: { 'bom-ref': string }) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    const { algorithmRef } = keys[0].cryptoProperties.relatedCryptoMaterialProperties;
    expect(refs).toContain(algorithmRef);
    const check = officialCheck();
    check(document);
    expect(check.errors ?? []).toEqual([]);
  });

  describe('with all public documents', () => {
    beforeAll(async () => {
      const key = material('storefront', { type: 'public-key', id: 'key of the storefront', algorithmRef: 'RSA-4096' });
      // A key that its source no longer reports has no relationships from which a verdict could be derived.
      for (const components of [[algorithm({ name: 'RSA-4096' }), key], [algorithm({ name: 'RSA-4096' })]])
        await ingest(bom(components, about('a source that shrinks')));
      for (const path of hasCorpus ? FOLDERS.flatMap((folder) => corpusFiles(folder)) : [])
        await ingest(corpusFile(path));
    });

    it('keeps the verdicts when the same reader reads them again from the inventory', async () => {
      const verdicts = 'SELECT id, verdict_id, resolved_by::text, content, changed_at::text FROM asset ORDER BY id';
      const before = await stage.sql<Record<string, unknown>>(verdicts);
      await stage.sql('UPDATE inventory_source SET reading = NULL');
      const worker = await stage.start({ role: 'worker' });
      const waiting = 'SELECT 1 FROM inventory_source WHERE reading IS NULL OR read_after IS NOT NULL';
      await until('all sources are read again', 60, async () => (await stage.sql(waiting)).length === 0);
      await worker.kill();
      const after = await stage.sql<Record<string, unknown>>(verdicts);
      expect(after.filter((row, index) => !isDeepStrictEqual(row, before[index]))).toEqual([]);
      expect(after).toHaveLength(before.length);
    });

    it.each(['1.6', '1.7'] as const)(
      'in %s is valid in an independent validator, and the same from an empty instance that imported it in any order',
      async (version) => {
        const path = `/api/export/cyclonedx?version=${version}`;
        const document = JSON.parse((await bytes(await raw({}, `?version=${version}`))).toString()) as Lists;
        const check = officialCheck(version);
        check(document);
        expect(check.errors ?? []).toEqual([]);
        const other = await openStage();
        try {
          const { apiKey: key } = await other.seed();
          const there = await other.start({ role: 'api' });
          const { components, dependencies } = document;
          const body = {
            ...shuffled(document, version, true),
            components: inOtherOrder(components, version).map((one) => shuffled(one, version, true)),
            dependencies: inOtherOrder(dependencies, version),
          };
          const taken = await there.call('POST', '/api/ingest?mode=strict', { key, body });
          const { length } = components;
          expect(taken.body).toMatchObject({ received: length, created: length });
          const again = await there.call('GET', path, { key, headers: { accept: '*/*' } });
          const second = again.body as Lists;
          expect(second.components).toEqual(components);
          expect(second.dependencies).toEqual(dependencies);
          const verdicts = `SELECT id, level, rule, quantum, classical, deadline FROM judged_asset WHERE state = 'active' ORDER BY id`;
          expect(await other.sql(verdicts)).toEqual(await stage.sql(verdicts));
        } finally {
          await other.close();
        }
      },
    );
  });

  it('completes for slow readers, delays nobody, and is limited to six at once and two per caller', async () => {
    const keys = Array.from({ length: 20_000 }, (_, i) =>
      material(`key-${i}`, { type: 'public-key', id: `a key with a long id ${i}` }, `src/${'x'.repeat(400)}/${i}.ts`),
    );
    await ingest(bom(keys, about('many keys')));
    const url = `${service.url}/api/export/cyclonedx`;
    const begin = async (key: string): Promise<IncomingMessage> => {
      const [answer] = await once(get(url, { headers: { authorization: `Bearer ${key}` } }), 'response');
      return answer as IncomingMessage;
    };
    const readers = await Promise.all(Array.from({ length: 3 }, reader));
    const slow = await Promise.all(readers.flatMap(({ key }) => [begin(key), begin(key)]));
    expect(slow.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 6 }, () => 200));
    const refused = await service.call('GET', '/api/export/cyclonedx', { key: apiKey });
    assertProblem(refused, { status: 429, code: 'export.busy' });
    expect(refused.headers.get('retry-after')).toBe('10');
    expect((await service.call('GET', '/api/assets', { key: apiKey })).status).toBe(200);
    const [gone, ...others] = slow;
    gone?.destroy();
    const whole = await Promise.all(others.map(async (answer) => Buffer.concat(await answer.toArray())));
    const document = JSON.parse(String(whole[0])) as { components: unknown[]; dependencies: unknown[] };
    expect(document.components.length).toBeGreaterThan(keys.length);
    expect(document.dependencies).toHaveLength(document.components.length);
    expect(whole.every((one) => one.equals(whole[0] as Buffer))).toBe(true);
    await until('a place to be free', 10, async () => {
      const answer = await raw();
      await bytes(answer);
      return answer.status === 200;
    });
    const own = await Promise.all([begin(apiKey), begin(apiKey), begin(apiKey)]);
    expect(own.filter(({ statusCode }) => statusCode === 200)).toHaveLength(2);
    for (const answer of own) answer.destroy();
  });

  it('is cut within seconds for a caller who lost the right, freeing its slot even if nobody reads it', async () => {
    const readers = await Promise.all(Array.from({ length: 3 }, reader));
    const url = `${service.url}/api/export/cyclonedx`;
    const silent = await Promise.all(
      readers.flatMap(({ key }) =>
        [1, 2].map(async () => {
          const [answer] = await once(get(url, { headers: { authorization: `Bearer ${key}` } }), 'response');
          return answer as IncomingMessage;
        }),
      ),
    );
    assertProblem(await service.call('GET', '/api/export/cyclonedx', { key: apiKey }), {
      status: 429,
      code: 'export.busy',
    });
    for (const { id } of readers) await service.call('DELETE', `/api/settings/api-keys/${id}`, { key: apiKey });
    await until('a place to be free', 30, async () => {
      const answer = await raw();
      await bytes(answer);
      return answer.status === 200;
    });
    await expect(silent[0]?.toArray()).rejects.toThrow('aborted');
    for (const answer of silent) answer.destroy();
  });

  const reader = () => newApiKey(service, apiKey, ['inventory:read']);

  it('has the same bytes whether read by two connections in turns or by one through a filter', async () => {
    const [whole, filtered] = await Promise.all(
      ['', '?lastSeenAfter=2000-01-01T00:00:00Z'].map(async (query) => String(await bytes(await raw({}, query)))),
    );
    const content = (text = '') => text.slice(text.indexOf('"components":['));
    expect(content(whole).length).toBeGreaterThan(10_000_000);
    expect(content(whole) === content(filtered)).toBe(true);
  });

  it('contains as many places of an asset as one value can hold, of those that each document may list', async () => {
    const placed = (folder: string, count: number) => {
      const occurrences = Array.from({ length: count }, (_, index) => ({ location: `${folder}/${index}` }));
      return bom([{ ...algorithm({ name: 'Serpent-placed' }), evidence: { occurrences } }], about(folder));
    };
    const many = await ingest(placed('many', 10_007));
    expect(many.body.warnings).toMatchObject([
      { code: 'asset.places-left-out', detail: expect.stringContaining('7 occurrences') },
    ]);
    await ingest(placed('x'.repeat(800), 3000));
    const [stored] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int AS count FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE a.name = 'Serpent-placed'`,
    );
    expect(stored?.count).toBe(13_000);
    for (const query of ['', '?family=Serpent']) {
      const { components } = (await (await raw({}, query)).json()) as {
        components: { name: string; evidence?: { occurrences: { location: string }[] } }[];
      };
      const found = components.find(({ name }) => name === 'Serpent-placed')?.evidence?.occurrences ?? [];
      expect(found.length).toBeGreaterThan(1000);
      expect(JSON.stringify(found).length).toBeLessThan(2_100_000);
    }
  });

  it('returns its connections when its reader disconnects', async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    for (let i = 0; i < 13; i += 1) {
      const [answer] = await once(get(`${service.url}/api/export/csv`, { headers }), 'response');
      (answer as IncomingMessage).destroy();
    }
    await until('all of them to be free', 30, async () => {
      const both = await Promise.all([raw(), raw()]);
      await Promise.all(both.map(bytes));
      return both.every(({ status }) => status === 200);
    });
  });
});
