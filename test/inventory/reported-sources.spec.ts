import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessToken, inDays, newApiKey } from '../support/access.js';
import { operationsOf, shippedDocument } from '../support/api-document.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApprover } from '../approvals/approvers.js';
import { registerSensor } from '../sensors/sensor-calls.js';
import { about, algorithm, bom } from './documents.js';

const NOBODY = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
/** Scopes of a sensor. */
const REPORTS = new Set(['sensors:report', 'inventory:report']);

let stage: Stage;
let service: Service;
let apiKey: string;
let admin: { adminEmail: string; adminPassword: string };

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey, ...admin } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const send = (key: string, source: string | undefined, body: object): Promise<Answer> =>
  service.call('POST', `/api/ingest${source === undefined ? '' : `?source=${encodeURIComponent(source)}`}`, {
    key,
    body,
  });
const scan = (name: string, more: object = {}) => ({
  assets: [{ component: { ...algorithm({ name }), 'bom-ref': undefined }, occurrence: { location: 'a' } }],
  ...more,
});
const reporter = async () => (await newApiKey(service, apiKey, ['inventory:report'])).key;
const ownerOf = async (name: string) =>
  (await stage.sql<{ owner: string | null }>('SELECT owner FROM inventory_source WHERE name = $1', [name]))[0]?.owner;

const TIMESTAMP_QUERY = { 'content-type': 'application/timestamp-query' };
/** Paths of the Vault and SignServer interfaces, whose error formats have no code. */
const AS_OTHERS_SAY_IT = /^\/(?:v1|rest)\//;

describe('a sensor key', () => {
  it('reaches only the reporting operations', async () => {
    const { key } = await registerSensor(service, apiKey);
    const others = operationsOf(shippedDocument()).filter(({ scopes }) => scopes?.some((scope) => !REPORTS.has(scope)));
    expect(others.length).toBeGreaterThan(150);
    const open: string[] = [];
    for (const { method, path } of others) {
      const { status, body } = await service.call(method, path.replaceAll(/\{\w+\}/g, NOBODY), {
        key,
        ...(method === 'GET' ? {} : { body: {} }),
        ...(path.startsWith('/tsa') ? { body: Buffer.from('0'), headers: TIMESTAMP_QUERY } : {}),
      });
      const isRefused = status === 403 && (AS_OTHERS_SAY_IT.test(path) || body.code === 'insufficient_scope');
      if (!isRefused) open.push(`${method} ${path} ${status} ${body.code}`);
    }
    expect(open).toEqual([]);
  });

  it('of the previous version with more scopes still reports and can do no more', async () => {
    const { key } = await registerSensor(service, apiKey);
    await stage.change(`UPDATE api_key SET permissions = '{sensors:report,inventory:write}' WHERE lookup = $1`, [
      key.split('_')[1],
    ]);
    const [row] = await stage.sql<{ permissions: string[] }>('SELECT permissions FROM api_key WHERE lookup = $1', [
      key.split('_')[1],
    ]);
    expect(row?.permissions).toContain('inventory:write');
    await until('the key as it was', 10, async () => {
      const rules = await service.call('DELETE', '/api/quantum-risk/rules/SEC-NONE', { key });
      return rules.body.code === 'insufficient_scope' && (await send(key, undefined, scan('old key'))).status === 200;
    });
    assertProblem(await service.call('POST', '/api/asset-views', { key, body: {} }), {
      status: 403,
      code: 'insufficient_scope',
    });
  });

  it('is limited to reporting when it is replaced', async () => {
    const { id, key } = await registerSensor(service, apiKey);
    await stage.change(`UPDATE api_key SET permissions = '{sensors:report,inventory:write}' WHERE lookup = $1`, [
      key.split('_')[1],
    ]);
    const { body } = await service.call('POST', `/api/sensors/${id}/key`, {
      key: apiKey,
      body: { expiry: inDays(30), overlapHours: 1 },
    });
    const [row] = await stage.sql('SELECT permissions FROM api_key WHERE lookup = $1', [body.key.split('_')[1]]);
    expect(row).toEqual({ permissions: ['sensors:report', 'inventory:report'] });
  });
});

describe('the scope inventory:write', () => {
  it('includes inventory:report, but not the reverse', async () => {
    const { key: wide } = await newApiKey(service, apiKey, ['inventory:write']);
    expect((await send(wide, 'wide', scan('wide'))).status).toBe(200);
    const narrow = await reporter();
    expect((await send(narrow, 'narrow', scan('narrow'))).status).toBe(200);
    assertProblem(await service.call('POST', '/api/policy-packs', { key: narrow, body: {} }), {
      status: 403,
      code: 'insufficient_scope',
    });
    expect((await service.call('GET', '/api/imports', { key: narrow })).status).toBe(200);
    const made = await service.call('POST', '/api/settings/api-keys', {
      key: wide,
      body: { name: 'x', permissions: ['inventory:report'], expiry: inDays(1) },
    });
    assertProblem(made, { status: 403, code: 'insufficient_scope' });
  });
});

describe('an inventory source', () => {
  it('belongs to its first reporter; others need permission', async () => {
    const [first, second] = [await reporter(), await reporter()];
    expect((await send(first, 'pipeline', scan('AES-128'))).status).toBe(200);
    const before = await stage.sql(
      'SELECT a::text, o::text FROM asset a JOIN asset_occurrence o ON o.asset_id = a.id ORDER BY 1, 2',
    );
    for (const body of [scan('MD5'), { assets: [], complete: true }, bom([], about('pipeline'))])
      assertProblem(await send(second, 'pipeline', body), { status: 403, code: 'source.owned' });
    assertProblem(await send(second, undefined, bom([], about('pipeline'))), { status: 403, code: 'source.owned' });
    expect(
      await stage.sql(
        'SELECT a::text, o::text FROM asset a JOIN asset_occurrence o ON o.asset_id = a.id ORDER BY 1, 2',
      ),
    ).toEqual(before);
    expect((await send(first, 'pipeline', scan('AES-192'))).status).toBe(200);
    expect((await send(apiKey, 'pipeline', scan('AES-256'))).status).toBe(200);
    expect((await send(first, 'pipeline', scan('AES-512'))).status).toBe(200);
    assertProblem(await send(second, 'pipeline', scan('MD5')), { status: 403, code: 'source.owned' });
  });

  it('keeps its owner through all keys of a sensor, and through API key rotation', async () => {
    const { id, key } = await registerSensor(service, apiKey);
    expect((await send(key, 'host:/etc', scan('a'))).status).toBe(200);
    expect(await ownerOf('host:/etc')).toBe(`sensor:${id}`);
    const { body } = await service.call('POST', `/api/sensors/${id}/key`, {
      key: apiKey,
      body: { expiry: inDays(30), overlapHours: 1 },
    });
    for (const one of [key, body.key]) expect((await send(one, 'host:/etc', scan('b'))).status).toBe(200);
    const old = await newApiKey(service, apiKey, ['inventory:report']);
    expect((await send(old.key, 'rotated', scan('a'))).status).toBe(200);
    const next = await service.call('POST', `/api/settings/api-keys/${old.id}/rotate`, {
      key: apiKey,
      body: { expiry: inDays(2), overlapHours: 0 },
    });
    expect((await send(next.body.key, 'rotated', scan('b'))).status).toBe(200);
    assertProblem(await send(await reporter(), 'rotated', scan('c')), { status: 403, code: 'source.owned' });
  });

  it('can be claimed when its owner no longer exists, which the response reports', async () => {
    const { id, key } = await registerSensor(service, apiKey);
    const old = await newApiKey(service, apiKey, ['inventory:report']);
    await send(key, 'left by a sensor', scan('a'));
    await send(old.key, 'left by a key', scan('a'));
    await service.call('DELETE', `/api/sensors/${id}`, { key: apiKey });
    await service.call('DELETE', `/api/settings/api-keys/${old.id}`, { key: apiKey });
    const heir = await reporter();
    for (const source of ['left by a sensor', 'left by a key']) {
      const { status, body } = await send(heir, source, scan('b'));
      expect({ status, codes: body.warnings.map(({ code }: { code: string }) => code) }).toEqual({
        status: 200,
        codes: ['source.taken-over'],
      });
      assertProblem(await send(await reporter(), source, scan('c')), { status: 403, code: 'source.owned' });
    }
  });

  it('whose name contains an owner that does not exist belongs to its first reporter', async () => {
    const [first, second, key] = [await reporter(), await reporter(), randomUUID()];
    for (const name of [`sensor:${key}/prod`, `api-key:${key}`, 'user:nobody/x']) {
      expect((await send(first, name, scan('a'))).status).toBe(200);
      assertProblem(await send(second, name, scan('b')), { status: 403, code: 'source.owned' });
      expect((await send(first, name, scan('c'))).body.warnings).toEqual([]);
      assertProblem(await send(second, `${name}\u001b[2J`, scan('b')), { status: 422, code: 'source.name' });
    }
  });

  it('is shared if a document does not name one, even if somebody else has sent the same bytes', async () => {
    const document = { bomFormat: 'CycloneDX', specVersion: '1.6', components: [algorithm({ name: 'AES-192' })] };
    const [first, second] = [
      await send(await reporter(), undefined, document),
      await send(await reporter(), undefined, document),
    ];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.source).not.toBe(first.body.source);
  });

  it('drops everything from tools of its former owner once its new owner reports a full set', async () => {
    const results = [
      {
        ruleId: 'weak',
        message: { text: 'RC4 is used' },
        locations: [{ physicalLocation: { artifactLocation: { uri: 'a.c' }, region: { startLine: 1 } } }],
      },
    ];
    const rules = [{ id: 'weak', properties: { tags: ['external/cwe/cwe-327'] } }];
    const former = await newApiKey(service, apiKey, ['inventory:report']);
    const sarif = { version: '2.1.0', runs: [{ tool: { driver: { name: 'planted', rules } }, results }] };
    expect((await send(former.key, 'planted', sarif)).body.created).toBe(1);
    await service.call('DELETE', `/api/settings/api-keys/${former.id}`, { key: apiKey });
    const heir = await reporter();
    expect((await send(heir, 'planted', scan('AES-256', { complete: true }))).status).toBe(200);
    const places = `SELECT a.name, o.missed FROM asset_occurrence o JOIN asset a ON a.id = o.asset_id
      JOIN inventory_source i ON i.id = o.source_id WHERE i.name = 'planted' ORDER BY a.name`;
    expect(await stage.sql(places)).toEqual([
      { name: 'AES-256', missed: 0 },
      { name: 'RC4', missed: 1 },
    ]);
  });

  it('may name its owner before anybody has reported it', async () => {
    const { id, key } = await registerSensor(service, apiKey);
    const other = await registerSensor(service, apiKey);
    const name = `sensor:${id}/etc`;
    assertProblem(await send(other.key, name, scan('a')), { status: 403, code: 'source.owned' });
    expect((await send(key, name, scan('a'))).status).toBe(200);
    const mine = await newApiKey(service, apiKey, ['inventory:report']);
    assertProblem(await send(other.key, `api-key:${mine.id}`, scan('a')), { status: 403, code: 'source.owned' });
    expect((await send(mine.key, undefined, scan('a'))).status).toBe(200);
  });

  it('without a known owner belongs to its next reporter', async () => {
    const [first, second] = [await reporter(), await reporter()];
    await send(first, 'of before', scan('a'));
    await stage.sql(`UPDATE inventory_source SET owner = NULL WHERE name = 'of before'`);
    expect((await send(second, 'of before', scan('b'))).body.warnings).toEqual([]);
    assertProblem(await send(first, 'of before', scan('c')), { status: 403, code: 'source.owned' });
  });

  it('is rejected with a log of several sources if one belongs to another owner', async () => {
    const [first, second] = [await reporter(), await reporter()];
    const run = (id: string) => ({ tool: { driver: { name: 't' } }, automationDetails: { id }, results: [] });
    const log = (...ids: string[]) => ({ version: '2.1.0', runs: ids.map(run) });
    expect((await send(first, undefined, log('two/'))).status).toBe(200);
    assertProblem(await send(second, undefined, log('one/', 'two/')), { status: 403, code: 'source.owned' });
    expect(await ownerOf('one/')).toBeUndefined();
    const { body } = await send(first, undefined, log('one/', 'two/'));
    expect(body).toMatchObject({
      source: 'one/',
      warnings: [expect.objectContaining({ code: 'source.another', detail: 'a part was imported as two/' })],
    });
  });

  it('is also restricted to its owner in an import', async () => {
    const [first, second] = [await reporter(), await reporter()];
    await send(first, 'imported', scan('a'));
    const accepted = await service.call('POST', '/api/ingest?async=true&source=imported', {
      key: second,
      body: scan('b'),
    });
    const end = await service.call('GET', `/api/imports/${accepted.body.id}?wait=30`, { key: second });
    expect(end.body).toMatchObject({ status: 'REFUSED', problem: { code: 'source.owned' } });
    const third = await reporter();
    expect((await service.call('GET', `/api/imports/${accepted.body.id}`, { key: third })).status).toBe(404);
    expect((await service.call('GET', '/api/imports', { key: third })).body.items).toEqual([]);
    expect((await service.call('GET', '/api/imports', { key: second })).body.items).toHaveLength(1);
  });
});

describe('a new source name', () => {
  it.each(['pipeline ', 'pipe\u200bline', 'pip\u0435line', 'pipe  line'])(
    '%j is rejected as a look-alike of an existing one',
    async (name) => {
      const answer = await send(await reporter(), name, scan('a'));
      assertProblem(answer, { status: 422, code: 'source.name' });
    },
  );

  it('becomes available again when the person behind the reporting key was disabled', async () => {
    const person = await newApprover({ stage, service, apiKey }, ['admin']);
    const own = await newApiKey(service, person.accessToken, ['inventory:report']);
    expect((await send(own.key, 'left source', scan('a'))).status).toBe(200);
    const heir = await reporter();
    assertProblem(await send(heir, 'left source', scan('b')), { status: 403, code: 'source.owned' });
    await service.call('PATCH', `/api/settings/users/${person.id}`, { key: apiKey, body: { disabled: true } });
    expect((await send(heir, 'left source', scan('b'))).body.warnings).toMatchObject([{ code: 'source.taken-over' }]);
  });
});

describe('the quota of a reporter', () => {
  it('limits the stored volume of all its sources together', async () => {
    const small = await stage.start({ role: 'api', settings: { SVC_REPORTER_MAX_ASSETS: '3' } });
    const key = await reporter();
    const names = (...all: string[]) =>
      bom(
        all.map((name) => algorithm({ name })),
        about('quota'),
      );
    const report = (by: string, source: string, body: object) =>
      small.call('POST', `/api/ingest?source=${encodeURIComponent(source)}`, { key: by, body });
    expect((await report(key, 'quota one', names('AES-128', 'AES-256'))).status).toBe(200);
    await until('the source is counted', 10, async () => {
      const rows = await stage.sql(`SELECT FROM inventory_source_count c JOIN inventory_source i ON i.id = c.source_id
        WHERE i.name = 'quota one' AND c.total = 2`);
      return rows.length === 1 ? true : undefined;
    });
    const more = names('AES-128', 'SHA-256');
    const refused = await report(key, 'quota two', more);
    assertProblem(refused, { status: 422, code: 'reporter.too-many-assets' });
    expect(await ownerOf('quota two')).toBeUndefined();
    // The latest document of a source replaces the previous document. Callers with write permission are not limited.
    expect((await report(key, 'quota one', names('AES-128', 'SHA-1', 'SHA-256'))).status).toBe(200);
    expect((await report(apiKey, 'quota three', names('A-1', 'A-2', 'A-3', 'A-4'))).status).toBe(200);
    // Occurrences and relationships are also limited, to five times the maximum number of assets.
    const placed = (count: number) => {
      const occurrences = Array.from({ length: count }, (_, index) => ({ location: `src/${index}.ts` }));
      return bom([{ ...algorithm({ name: 'SHA-512' }), evidence: { occurrences } }], about('places'));
    };
    const other = await reporter();
    assertProblem(await report(other, 'quota four', placed(16)), { status: 422, code: 'reporter.too-many-assets' });
    expect((await report(other, 'quota four', placed(8))).status).toBe(200);
    assertProblem(await report(other, 'quota five', placed(8)), { status: 422, code: 'reporter.too-many-assets' });
  });
});

it('a reporter adds at most 2000 sets of cipher suites', async () => {
  const sets = (from: number, count: number) =>
    bom(
      Array.from({ length: count }, (_, index) => ({
        type: 'cryptographic-asset',
        name: 'TLS',
        cryptoProperties: {
          assetType: 'protocol',
          protocolProperties: { type: 'tls', version: '1.2', cipherSuites: [{ name: `TLS_MADE_UP_${from + index}` }] },
        },
      })),
      about('suites'),
    );
  const [key, other] = [await reporter(), await reporter()];
  expect((await send(key, 'suites one', sets(0, 1999))).status).toBe(200);
  assertProblem(await send(key, 'suites two', sets(1999, 2)), { status: 422, code: 'reporter.too-many-verdicts' });
  expect((await send(key, 'suites two', sets(1998, 2))).status).toBe(200);
  // Sets that are already known are not counted against the limit, and every reporter has a separate limit.
  expect((await send(key, 'suites three', sets(0, 2000))).status).toBe(200);
  expect((await send(other, 'suites four', sets(2000, 2))).status).toBe(200);
});

describe('a future document time', () => {
  const dated = (timestamp: string, ...names: string[]) =>
    bom(
      names.map((name) => algorithm({ name })),
      about('clock', timestamp),
    );
  const names = async () =>
    (await service.call('GET', '/api/assets?source=clock&limit=50', { key: apiKey })).body.items
      .map(({ name }: { name: string }) => name)
      .sort();

  it('is replaced by the time of receipt, which the response reports', async () => {
    const future = await send(apiKey, undefined, dated('2999-01-01T00:00:00Z', 'Future'));
    expect(future.body).toMatchObject({
      created: 1,
      warnings: [{ pointer: '/metadata/timestamp', code: 'document.future' }],
    });
    const again = await send(apiKey, undefined, dated('2999-01-01T00:00:00Z', 'Future'));
    expect(again.body.warnings).toMatchObject([{ code: 'document.future' }]);
    const now = await send(apiKey, undefined, dated(new Date(Date.now() + 1000).toISOString(), 'Now'));
    expect(now.body.warnings).toEqual([]);
    expect(await names()).toEqual(['Now']);
    const soon = await send(apiKey, undefined, dated(new Date(Date.now() + 60_000).toISOString(), 'Soon'));
    expect(soon.body.warnings).toEqual([]);
  });

  it('stored by the previous version ends with the next document', async () => {
    await stage.sql(`UPDATE inventory_source SET document_time = '2999-01-01' WHERE name = 'clock'`);
    const { body } = await send(apiKey, undefined, dated(new Date().toISOString(), 'After'));
    expect(body.warnings).toEqual([]);
    expect(await names()).toEqual(['After']);
  });
});

describe('people who report', () => {
  it('own what they report first', async () => {
    const token = await accessToken(service, admin.adminEmail, admin.adminPassword);
    expect((await send(token, 'by hand', scan('a'))).status).toBe(200);
    expect(await ownerOf('by hand')).toMatch(/^user:/);
    assertProblem(await send(await reporter(), 'by hand', scan('b')), { status: 403, code: 'source.owned' });
  });
});
