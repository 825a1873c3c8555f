import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom } from './documents.js';
import { officialCheck } from '../support/cyclonedx-schema.js';

let stage: Stage;
let service: Service;
let apiKey: string;

const at =
  (base: string) =>
  (method: string, path: string, body?: unknown): Promise<Answer> =>
    service.call(method, `${base}${path}`, { key: apiKey, ...(body === undefined ? {} : { body }) });
const call = at('/api/attestations');
const packs = at('/api/policy-packs');
const tls = {
  type: 'cryptographic-asset',
  'bom-ref': 'tls',
  name: 'TLS',
  cryptoProperties: { assetType: 'protocol', protocolProperties: { type: 'tls', version: '1.0' } },
};
const STRATEGY = { identifier: '12.3.3-STRATEGY', score: 1, rationale: 'The plan was approved.' };

/** Returns a custom policy pack whose only requirement is checked by a query. */
const packOf = (name: string, version: string, requirement: { identifier: string; text: string; q: string }) => ({
  name,
  version,
  owner: 'Example Inc.',
  description: 'What we keep to',
  reviewEveryDays: 90,
  requirements: [requirement],
});

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  const components = [
    algorithm({ name: 'RSA-2048', properties: { primitive: 'signature' } }),
    algorithm({ name: 'ECDSA', properties: { primitive: 'signature', curve: 'secp384r1' } }),
    algorithm({ name: 'ML-DSA-87', properties: { primitive: 'signature' } }),
    algorithm({ name: 'ML-KEM-768', properties: { primitive: 'kem' } }),
    algorithm({ name: 'AES-256-GCM' }),
    algorithm({ name: 'AES-128-GCM' }),
    algorithm({ name: 'ChaCha20-Poly1305' }),
    algorithm({ name: 'SHA-256' }),
    algorithm({ name: 'SHA-384' }),
    tls,
  ];
  await service.call('POST', '/api/ingest', { key: apiKey, body: bom(components, about('shop')) });
});
afterAll(() => stage.close());

async function evaluated(
  pack: string,
  more: object = {},
): Promise<Record<string, [assets: number, violations: number]>> {
  const { body } = await call('POST', '/evaluations', { pack, ...more });
  return Object.fromEntries(
    body.results.map((one: { identifier: string; assets: number; violations: number }) => [
      one.identifier,
      [one.assets, one.violations],
    ]),
  );
}

describe('a policy pack', () => {
  it('of each authority is included in the product', async () => {
    const { body } = await packs('GET', '');
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([
      'cnsa-2.0',
      'nist-ir-8547',
      'pci-dss-12.3.3',
      'bsi-tr-02102',
    ]);
  });

  it('is evaluated against the inventory as of a date: deprecated and disallowed take effect on time', async () => {
    const cnsa = await evaluated('cnsa-2.0', { asOf: '2026-06-01' });
    expect(cnsa).toMatchObject({ 'CNSA-KE': [1, 1], 'CNSA-SIG': [3, 1], 'CNSA-AES': [3, 2], 'CNSA-HASH': [2, 1] });
    expect(cnsa['CNSA-KNOWN']?.[1]).toBe(0);
    expect((await evaluated('cnsa-2.0', { asOf: '2032-01-01' }))['CNSA-SIG']).toEqual([3, 2]);
    const nist = async (asOf: string) => {
      const { 'IR8547-DEPRECATED': deprecated, 'IR8547-DISALLOWED': disallowed } = await evaluated('nist-ir-8547', {
        asOf,
      });
      return [deprecated?.[1], disallowed?.[1]];
    };
    expect(await nist('2030-12-30')).toEqual([0, 0]);
    expect(await nist('2031-01-01')).toEqual([1, 0]);
    expect(await nist('2036-01-01')).toEqual([2, 2]);
    expect((await evaluated('cnsa-2.0', { scope: 'family=AES' }))['CNSA-AES']).toEqual([2, 1]);
  });

  it('reports what is accepted only temporarily, and until when', async () => {
    const { body } = await call('POST', '/evaluations', { pack: 'cnsa-2.0', asOf: '2026-06-01' });
    const results = new Map(body.results.map((one: { identifier: string }) => [one.identifier, one]));
    expect(results.get('CNSA-SIG')).toMatchObject({
      acceptedUntil: { assets: 1, first: '2031-12-31' },
      rationale:
        '1 of 3 assets violate the requirement. Assets accepted only temporarily: 1, the first until 2031-12-31.',
    });
    expect(results.get('CNSA-AES')).not.toHaveProperty('acceptedUntil');
  });

  it('can be custom, with checks by query, and reports its faults', async () => {
    const pack = packOf('Ours', '1', { identifier: 'OURS-1', text: 'No small RSA', q: 'family=RSA and bits<3072' });
    const made = await packs('POST', '', pack);
    expect(made.status).toBe(201);
    expect(await evaluated(made.body.id)).toEqual({ 'OURS-1': [10, 1] });
    expect((await packs('POST', '', pack)).body.code).toBe('policy-pack.name');
    const wrong = { ...pack, name: 'Wrong', requirements: [{ identifier: 'X', text: 'x', q: 'family=' }] };
    expect((await packs('POST', '', wrong)).body).toMatchObject({ status: 400, code: 'query.invalid' });
    const [requirement] = pack.requirements;
    const amongRsa = { ...pack, name: 'Of RSA', requirements: [{ ...requirement, among: 'family=RSA' }] };
    const { body: narrow } = await packs('POST', '', amongRsa);
    expect(narrow.requirements).toMatchObject([{ q: 'family=RSA and bits<3072', among: 'family=RSA' }]);
    expect(await evaluated(narrow.id)).toEqual({ 'OURS-1': [1, 1] });
    const scope = Array.from({ length: 48 }, (_, bits) => `bits!=${bits}`).join(' and ');
    expect(await evaluated(narrow.id, { scope: `${scope} and family=RSA` })).toEqual({ 'OURS-1': [1, 1] });
    const { body: refused } = await call('POST', '/evaluations', { pack: narrow.id, scope: 'name=x and name' });
    expect(refused).toMatchObject({ code: 'query.invalid', errors: [{ column: 16 }] });
    const lost = { ...amongRsa, name: 'Lost', requirements: [{ ...requirement, among: 'family=' }] };
    expect((await packs('POST', '', lost)).body.code).toBe('query.invalid');
    const aimless = { ...pack, name: 'Aimless', requirements: [{ identifier: 'X', text: 'x', among: 'family=RSA' }] };
    expect((await packs('POST', '', aimless)).body).toMatchObject({
      status: 400,
      errors: [{ pointer: '/requirements/0/q' }],
    });
    expect((await call('POST', '/evaluations', { pack: 'none' })).body.code).toBe('policy-pack.missing');
  });

  it('that is custom can be replaced under another version and deleted; attestations keep the old one', async () => {
    const pack = packOf('Changing', '1.0', { identifier: 'C-1', text: 'No RSA', q: 'family=RSA' });
    const { body: made } = await packs('POST', '', pack);
    const { body: attested } = await call('POST', '', { pack: made.id, statement: 'As it stands.' });
    const change = async (id: string, body: object, revision?: number) => {
      const headers: Record<string, string> = revision === undefined ? {} : { 'if-match': `"${revision}"` };
      return service.call('PUT', `/api/policy-packs/${id}`, { key: apiKey, headers, body });
    };
    const next = { ...pack, version: '1.1', requirements: [{ identifier: 'C-2', text: 'No TLS 1.0', q: 'name=TLS' }] };
    expect((await change(made.id, next)).body.code).toBe('request.if-match-missing');
    expect((await change(made.id, { ...next, version: '1.0' }, 1)).body.code).toBe('policy-pack.version');
    expect((await change(made.id, { ...next, name: 'Ours' }, 1)).body.code).toBe('policy-pack.name');
    expect((await change(made.id, next, 1)).body).toMatchObject({ id: made.id, version: '1.1', revision: 2 });
    expect((await change(made.id, { ...next, version: '1.2' }, 1)).body.code).toBe('request.stale');
    const shown = await packs('GET', `/${made.id}`);
    expect(shown.body).toMatchObject({ version: '1.1', revision: 2 });
    expect(shown.headers.get('etag')).toBe('"2"');
    expect(Object.keys(await evaluated(made.id))).toEqual(['C-2']);
    expect((await change('cnsa-2.0', next, 1)).body.code).toBe('policy-pack.product');
    expect((await packs('DELETE', '/cnsa-2.0')).body.code).toBe('policy-pack.product');
    expect((await packs('DELETE', `/${made.id}`)).status).toBe(204);
    expect((await change(made.id, next, 2)).body.code).toBe('policy-pack.missing');
    expect((await packs('DELETE', `/${made.id}`)).body.code).toBe('policy-pack.missing');
    const { body: kept } = await call('GET', `/${attested.id}`);
    expect(kept.pack).toMatchObject({ version: '1.0', requirements: [{ identifier: 'C-1' }] });
    const told = await stage.sql(
      `SELECT subject_name AS name, over FROM happening WHERE subject_name LIKE 'Changing,%' ORDER BY at, id`,
    );
    expect(told).toEqual([
      { name: 'Changing, C-1', over: false },
      { name: 'Changing, C-1', over: true },
      { name: 'Changing, C-2', over: true },
    ]);
    const done = await stage.sql<{ action: string }>(
      `SELECT action FROM audit_entry WHERE action LIKE 'inventory.policy-pack-%' AND target_id = $1 ORDER BY at`,
      [made.id],
    );
    expect(done.map(({ action }) => action.split('-').at(-1))).toEqual(['created', 'changed', 'removed']);
  });

  it('can be deleted during an attestation without blocking anybody', async () => {
    const pack = packOf('Leaving', '1', { identifier: 'L-1', text: 'No RSA', q: 'family=RSA' });
    const { body: made } = await packs('POST', '', pack);
    const holder = new Client({ connectionString: stage.databaseUrl });
    await holder.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE attestation IN SHARE MODE');
      const attested = call('POST', '', { pack: made.id, statement: 'As it stands.' });
      await until('the attestation to be evaluated', 30, async () => {
        const { rows } = await holder.query(
          `SELECT 1 FROM pg_locks WHERE relation = 'attestation'::regclass AND NOT granted`,
        );
        return rows[0];
      });
      expect((await packs('DELETE', `/${made.id}`)).status).toBe(204);
      await holder.query('COMMIT');
      expect((await attested).status).toBe(201);
    } finally {
      await holder.end();
    }
    const told = await stage.sql(`SELECT over FROM happening WHERE subject_name = 'Leaving, L-1'`);
    expect(told).toEqual([{ over: true }]);
  });
});

describe('an attestation', () => {
  const order = {
    pack: 'pci-dss-12.3.3',
    statement: 'We reviewed what is in use',
    reviewer: 'Ada Lovelace',
    reviews: [STRATEGY],
    evidence: [{ description: 'Minutes', url: 'https://wiki.example.com/review' }],
  };

  it('is stored with reviewer, evidence and expiry, and exported as valid CycloneDX declarations', async () => {
    const { status, body } = await call('POST', '', order);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      reviewer: 'Ada Lovelace',
      expired: false,
      score: expect.closeTo((1 + 0 + 1) / 3),
    });
    const days = (Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 24 / 3600 / 1000;
    expect(Math.round(days)).toBe(365);
    expect((await call('GET', '?pack=pci-dss-12.3.3')).body.items).toEqual([body]);
    const told = await stage.sql(
      `SELECT subject_name AS name, over FROM happening WHERE subject_name LIKE 'PCI %' ORDER BY subject_name`,
    );
    expect(told).toEqual([
      { name: 'PCI DSS 12.3.3, 12.3.3-INVENTORY', over: true },
      { name: 'PCI DSS 12.3.3, 12.3.3-STRATEGY', over: true },
      { name: 'PCI DSS 12.3.3, 12.3.3-VIABILITY', over: false },
    ]);
    const { body: exported } = await call('GET', `/${body.id}/cyclonedx`);
    const check = officialCheck();
    check(exported);
    expect(check.errors ?? []).toEqual([]);
    const { attestations, evidence } = exported.declarations;
    expect(attestations[0].map).toHaveLength(3);
    expect(evidence[0]).toMatchObject({ expires: body.expiresAt, reviewer: { name: 'Ada Lovelace' } });
    expect(exported.definitions.standards[0].requirements[2].identifier).toBe('12.3.3-STRATEGY');
  });

  it.each([
    ['while a person has yet to judge', { reviews: [] }, 'attestation.open'],
    ['beyond its time', { expiresAt: '2099-01-01T00:00:00Z' }, 'attestation.expiry'],
    [
      'with a review of what a query checks',
      { reviews: [{ ...STRATEGY, identifier: '12.3.3-VIABILITY' }] },
      'request.invalid',
    ],
  ])('cannot be created %s', async (_, more, code) => {
    expect((await call('POST', '', { ...order, ...more })).body.code).toBe(code);
  });

  it('requires the scope', async () => {
    const { key } = await newApiKey(service, apiKey, ['inventory:read']);
    expect((await service.call('POST', '/api/attestations', { key, body: order })).status).toBe(403);
    expect((await call('GET', '/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11')).body.code).toBe('attestation.missing');
  });
});
