import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { LONG_TEXT, longBodies } from '../support/long-texts.js';
import { openStage, type Stage } from '../support/stage.js';
import { corpusFile, corpusFiles, hasCorpus } from './corpus.js';
import { about, algorithm, bom, material } from './documents.js';
import { RICH_BOM, RICH_SARIF, RICH_SCAN } from './rich-documents.js';

const CYCLONEDX = { 'content-type': 'application/vnd.cyclonedx+json' };
const NOTHING_STORED = { created: 0, updated: 0 };

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return service.call('POST', path, { key: apiKey, body, headers });
}
const ingest = (body: unknown, query = '') => post(`/api/ingest${query}`, body, CYCLONEDX);

/** Asserts that an accepted document has consistent counts, and that a rejection contains the location of the fault and the reason. */
function assertExplained(status: number, body: Answer['body']): void {
  const explained =
    status >= 400
      ? typeof body.errors[0].pointer === 'string' && /\w/.test(body.errors[0].detail)
      : body.received === body.created + body.updated + body.unchanged + body.rejected.length;
  expect(explained ? 'explained' : body).toBe('explained');
}

async function stored(): Promise<unknown> {
  const tables = [
    'asset',
    'asset_occurrence',
    'asset_relationship',
    'inventory_source',
    'inventory_document',
    'risk_verdict',
  ];
  const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`).join(', ');
  const rows = await stage.sql(
    `SELECT ${counts}, (SELECT md5(string_agg(t::text, '|' ORDER BY t.id)) FROM asset t) AS assets`,
  );
  return rows[0];
}

describe('a sensor scan', () => {
  const scan = (assets: unknown[]) => ({ scanId: 'scan-1', assets });
  const found = (name: string, location: string) => ({ component: algorithm({ name }), occurrence: { location } });

  it('is stored, and changes nothing when sent again', async () => {
    const body = scan([found('AES-256-GCM', 'host-a:443'), found('RSA-2048', 'host-b:22')]);
    const first = await post('/api/ingest', body);
    expect(first.body).toMatchObject({ received: 2, created: 2, updated: 0, unchanged: 0, rejected: [] });
    const before = await stored();
    expect((await post('/api/ingest', body)).body).toMatchObject({ received: 2, created: 0, updated: 0, unchanged: 2 });
    expect(await stored()).toEqual(before);
  });

  it('adds a location to a known asset', async () => {
    const { body } = await post('/api/ingest', scan([found('AES-256-GCM', 'host-c:443')]));
    expect(body).toMatchObject({ created: 0, unchanged: 1 });
    const rows = await stage.sql(
      `SELECT location FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id WHERE a.name = 'AES-256-GCM' ORDER BY 1`,
    );
    expect(rows).toEqual([{ location: 'host-a:443' }, { location: 'host-c:443' }]);
  });

  it('drops only its invalid items, each with its pointer', async () => {
    const bad = { component: { type: 'cryptographic-asset' } };
    const { status, body } = await post(
      '/api/ingest',
      scan([bad, found('ChaCha20', 'x'), { ...found('AES', 'y'), colour: 1 }, 7]),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ received: 4, created: 1 });
    expect(body.rejected.map(({ index, pointer }: { index: number; pointer: string }) => [index, pointer])).toEqual([
      [0, '/assets/0/component'],
      [2, '/assets/2/colour'],
      [3, '/assets/3'],
    ]);
  });

  it('may be sent as lines', async () => {
    const lines = [found('Camellia-256', 'a'), found('ARIA-256', 'b')].map((item) => JSON.stringify(item)).join('\n');
    const { body } = await post('/api/ingest', lines, { 'content-type': 'application/x-ndjson' });
    expect(body).toMatchObject({ received: 2, created: 2 });
  });

  it('may send its API key as X-API-Key', async () => {
    const { status } = await service.call('POST', '/api/ingest', { body: scan([]), headers: { 'x-api-key': apiKey } });
    expect(status).toBe(200);
  });
});

describe('an ingest call is rejected', () => {
  it.each<[what: string, body: unknown, status: number, code: string, pointer: string | undefined]>([
    ['that is no JSON', '{', 400, 'request.malformed', ''],
    ['that is empty', '', 400, 'request.malformed', ''],
    ['that is a list', [], 422, 'document.format', ''],
    ['of no known format', { hosts: [] }, 422, 'document.format', ''],
    ['of an unknown version', { ...bom([]), specVersion: '999' }, 422, 'document.version', '/specVersion'],
    ['with an unknown member', bom([], { cryptoAssets: [] }), 422, 'document.invalid', '/cryptoAssets'],
    ['with a NUL character', bom([algorithm({ name: 'A\u0000' })]), 422, 'document.invalid', '/components/0/name'],
    ['nested without end', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 422, 'document.format', ''],
    ['of an old SARIF version', { version: '1.0.0', runs: [] }, 422, 'document.version', '/version'],
    ['with an unknown field in a scan', { assets: [], colour: 1 }, 400, 'request.invalid', '/colour'],
  ])('%s', async (_, body, status, code, pointer) => {
    const before = await stored();
    const answer = await ingest(body);
    expect(answer.body).toMatchObject({ status, code, errors: [expect.objectContaining({ pointer })] });
    expect(await stored()).toEqual(before);
  });

  it('without the scope', async () => {
    const { key } = await newApiKey(service, apiKey, ['inventory:read']);
    expect((await service.call('POST', '/api/ingest', { key, body: {} })).body).toMatchObject({
      status: 403,
      scope: 'inventory:report',
    });
    expect((await service.call('POST', '/api/ingest', { body: {} })).status).toBe(401);
  });

  it('with an unsupported media type', async () => {
    expect((await post('/api/ingest', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
    const ofAnotherRoute = { 'content-type': 'application/timestamp-query' };
    expect((await post('/api/v1/signing-keys', '{}', ofAnotherRoute)).status).toBe(415);
  });
});

describe('a CycloneDX document', () => {
  it('with duplicate items is rejected in strict mode, and repaired in repair mode', async () => {
    const twice = { ref: 'AES', dependsOn: [] };
    const document = bom([algorithm({ name: 'AES' })], { ...about('twice'), dependencies: [twice, twice] });
    expect((await ingest(document, '?mode=strict')).body).toMatchObject({
      status: 422,
      code: 'document.invalid',
      errors: [{ pointer: '/dependencies/1' }],
    });
    expect((await ingest(document)).body).toMatchObject({
      repairs: [{ pointer: '/dependencies/1', code: 'duplicate.removed' }],
    });
  });

  it('that repeats its content in a new edition changes nothing, and a fault of the edition is rejected', async () => {
    const twice = { ref: 'ARIA-192', dependsOn: [] };
    const edition = (day: number, more: object = {}) =>
      bom([algorithm({ name: 'ARIA-192' })], {
        ...about('editions', `2026-05-0${day}T00:00:00Z`),
        dependencies: [twice, twice],
        ...more,
      });
    const repairs = [{ pointer: '/dependencies/1', code: 'duplicate.removed' }];
    expect((await ingest(edition(1))).body).toMatchObject({ created: 1, repairs });
    const { body: first } = await ingest(edition(2, { version: 2 }));
    expect(first).toMatchObject({ ...NOTHING_STORED, received: 1, unchanged: 1, repairs });
    const bad = await ingest(edition(3, { version: 0 }));
    expect(bad.body).toMatchObject({
      status: 422,
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/version' })]),
    });
    for (const strict of [edition(2, { version: 2 }), edition(4)])
      expect((await ingest(strict, '?mode=strict')).body).toMatchObject({
        status: 422,
        errors: [{ pointer: '/dependencies/1' }],
      });
    const other = bom([algorithm({ name: 'ARIA-128' })], about('editions', '2026-05-05T00:00:00Z'));
    expect((await ingest(other)).body).toMatchObject({ created: 1 });
  });

  it('reports components unrelated to cryptography', async () => {
    const library = (name: string) => ({ type: 'library', 'bom-ref': name, name });
    const document = bom([library('web'), library('colours'), algorithm({ name: 'SHA-256' })], {
      ...about('shop'),
      dependencies: [{ ref: 'web', dependsOn: ['SHA-256'] }],
    });
    expect((await ingest(document)).body).toMatchObject({ received: 2, created: 2, ignored: 2, source: 'shop' });
  });

  it('that is older than the newest of its source changes nothing', async () => {
    const at = (time: string, name: string) => bom([algorithm({ name })], about('clock', time));
    expect((await ingest(at('2026-02-01T00:00:00Z', 'AES-128-CBC'))).body).toMatchObject({ created: 1 });
    const { body } = await ingest(at('2026-01-01T00:00:00Z', 'DES-CBC'));
    expect(body).toMatchObject({ ...NOTHING_STORED, warnings: [{ code: 'document.superseded' }] });
  });

  it('makes missing assets stale, then resolved, and active again when they return', async () => {
    const state = async () =>
      (await stage.sql<{ state: string }>(`SELECT state FROM asset WHERE name = 'Serpent-256'`))[0]?.state;
    const day = (n: number, names: string[]) =>
      ingest(
        bom(
          names.map((name) => algorithm({ name })),
          about('drift', `2026-03-0${n}T00:00:00Z`),
        ),
      );
    await day(1, ['Serpent-256', 'Twofish-256']);
    expect(await state()).toBe('active');
    await day(2, ['Twofish-256']);
    expect(await state()).toBe('stale');
    await day(3, ['Twofish-256']);
    await day(4, ['Twofish-256']);
    expect(await state()).toBe('resolved');
    await day(5, ['Serpent-256', 'Twofish-256']);
    expect(await state()).toBe('active');
  });

  // Dropping temporary tables at the end of a session requires a commit, which waits for a standby. A leader without standbys could therefore not shut down.
  it('leaves no temporary table in database sessions', async () => {
    const tables = await stage.sql<{ relname: string }>(`SELECT relname FROM pg_class WHERE relpersistence = 't'`);
    expect(tables).toEqual([]);
  });

  it('that arrives a hundred times concurrently is stored once', async () => {
    const document = bom([algorithm({ name: 'SEED-128' })], about('crowd'));
    const answers = await Promise.all(Array.from({ length: 100 }, () => ingest(document)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(1);
    expect(new Set(answers.map(({ body }) => body.documentId)).size).toBe(1);
  });

  it('returns the first outcome for a repeated Idempotency-Key, and rejects it for another body', async () => {
    const headers = { ...CYCLONEDX, 'idempotency-key': 'once' };
    const first = await post('/api/ingest', bom([algorithm({ name: 'IDEA' })], about('key')), headers);
    expect((await post('/api/ingest', bom([algorithm({ name: 'IDEA' })], about('key')), headers)).body).toEqual(
      first.body,
    );
    expect((await post('/api/ingest', bom([]), headers)).body).toMatchObject({
      status: 422,
      code: 'idempotency.other-body',
    });
  });

  it('keeps two keys in one file distinct, and recognizes them when lines move', async () => {
    const key = (ref: string, line: number) => ({
      ...material(`key@${ref}`, { type: 'secret-key' }),
      'bom-ref': ref,
      evidence: { occurrences: [{ location: 'src/a.ts', line }] },
    });
    const refs = ['0a6e7d8c-1111-4222-8333-444455556666', '1b6e7d8c-1111-4222-8333-444455556666'];
    const later = ['2c6e7d8c-1111-4222-8333-444455556666', '3d6e7d8c-1111-4222-8333-444455556666'];
    const document = (names: string[], shift: number, time: string) =>
      bom(
        names.map((name, i) => key(name, 10 * i + shift)),
        about('lines', time),
      );
    expect((await ingest(document(refs, 5, '2026-01-01T00:00:00Z'))).body).toMatchObject({ created: 2 });
    expect((await ingest(document(later, 9, '2026-01-02T00:00:00Z'))).body).toMatchObject({ created: 0, unchanged: 2 });
  });
});

describe.skipIf(!hasCorpus)('public documents', () => {
  it('of Keycloak in 2025 mostly match 2024, and sending either again changes nothing', async () => {
    const [old, recent] = ['cbom/cbomkit-keycloak-2024-1.6.json', 'cbom/cbomkit-keycloak-1.6.json'].map(corpusFile);
    expect((await ingest(old)).body).toMatchObject({ received: 56, source: 'https://github.com/keycloak/keycloak' });
    const { body } = await ingest(recent);
    expect(body.received).toBe(56);
    expect(body.unchanged + body.updated).toBeGreaterThanOrEqual(52);
    const before = await stored();
    for (const again of [old, recent])
      expect((await ingest(again)).body).toMatchObject({ ...NOTHING_STORED, unchanged: 56 });
    expect(await stored()).toEqual(before);
  });

  it.each([
    ...corpusFiles('cbom'),
    ...corpusFiles('cbom/sbom'),
    ...corpusFiles('spec-1.6/resources'),
    ...corpusFiles('sarif', '.sarif'),
  ])('%s is accepted, or rejected with pointer and reason', async (path) => {
    const { status, body } = await post('/api/v1/import/source-scan?mode=repair', corpusFile(path));
    // Repair mode fixes timestamps without a time zone and licence lists that also contain expressions.
    const isRepaired = /invalid-(?:metadata-timestamp|license-declared-concluded-mix)-/.test(path);
    const named = isRepaired ? null : /(?:^|[-/])(in)?valid-|-invalid\./.exec(path);
    const wanted = named === null ? [200, 422] : [named[1] === undefined && !path.includes('-invalid.') ? 200 : 422];
    expect(wanted).toContain(status);
    assertExplained(status, body);
  });

  it('yield at most a tenth "unknown" verdicts', async () => {
    const [row] = await stage.sql<{ unknown: number; all: number }>(
      `SELECT count(*) FILTER (WHERE quantum = 'unknown')::int AS unknown, count(*)::int AS all FROM judged_asset WHERE kind <> 'component'`,
    );
    expect(row?.all).toBeGreaterThan(100);
    expect((row?.unknown ?? 1) / (row?.all ?? 1)).toBeLessThanOrEqual(0.1);
  });
});

describe('a document with 10,000 characters in one of its texts', () => {
  it.each([
    ['CycloneDX', RICH_BOM],
    ['CycloneDX without a repository', { ...RICH_BOM, metadata: { component: { type: 'application', name: 'shop' } } }],
    ['SARIF', RICH_SARIF],
    ['SARIF without a category', { ...RICH_SARIF, runs: [{ ...RICH_SARIF.runs[0], automationDetails: undefined }] }],
    ['a scan of a sensor', RICH_SCAN],
  ])(
    'is stored, or rejected with a pointer: %s',
    async (_, document) => {
      const bodies = longBodies(JSON.parse(JSON.stringify(document)));
      const types = { 'content-type': 'application/json' };
      for (const body of bodies) {
        const answer = await post('/api/ingest?mode=repair', JSON.stringify(body), types);
        expect([200, 400, 422]).toContain(answer.status);
        assertExplained(answer.status, answer.body);
      }
    },
    120_000,
  );

  it('keeps two sources with a long common name prefix apart, and reports that names are truncated', async () => {
    const named = (end: string) => ({
      ...RICH_BOM,
      metadata: { component: { type: 'application', name: `${LONG_TEXT}${end}` } },
    });
    const [first, second] = [await ingest(named('a')), await ingest(named('b'))];
    expect(first.body.source).not.toBe(second.body.source);
    expect(first.body.source).toHaveLength(500);
    expect(first.body.warnings).toContainEqual(expect.objectContaining({ code: 'source.shortened' }));
    const found = await service.call('GET', `/api/assets?source=${encodeURIComponent(first.body.source)}`, {
      key: apiKey,
    });
    expect(found.body.items).toHaveLength(4);
  });
});
