import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashId } from '../../src/inventory/model/asset-identity.js';
import type { Answer, Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

const NAMES = {
  subjectName: 'CN=shop',
  issuerName: 'CN=CA',
  notValidBefore: '2026-01-01T00:00:00Z',
  notValidAfter: '2027-01-01T00:00:00Z',
};
const SHA_A = 'a'.repeat(64);
const SHA_B = 'b'.repeat(64);

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

const send = async (document: unknown): Promise<Answer> => {
  const answer = await service.call('POST', '/api/ingest', { key: apiKey, body: document });
  expect(answer.status).toBe(200);
  return answer;
};
const certificate = (ref: string, facts: object, more: object = {}) => ({
  type: 'cryptographic-asset',
  name: 'shop',
  'bom-ref': ref,
  cryptoProperties: { assetType: 'certificate', certificateProperties: { ...NAMES, ...facts } },
  ...more,
});
const ALGORITHMS = [algorithm({ name: 'SHA256withRSA' }), algorithm({ name: 'SHA256withECDSA' })];
const key = (ref: string, id: string) => material(ref, { type: 'public-key', id });
const document = (source: string, components: object[], version = '1.6') => ({
  ...bom([...ALGORITHMS, ...components], about(source)),
  specVersion: version,
});

async function idsOf(source: string, kind = 'certificate'): Promise<string[]> {
  const { body } = await service.call('GET', `/api/assets?source=${source}&kind=${kind}&limit=100`, { key: apiKey });
  return body.items.map(({ id }: { id: string }) => id).sort();
}

describe('certificates with equal names and validity', () => {
  it.each<[string, object, object, string?]>([
    ['signature algorithm', { signatureAlgorithmRef: 'SHA256withRSA' }, { signatureAlgorithmRef: 'SHA256withECDSA' }],
    ['key', { subjectPublicKeyRef: 'k1' }, { subjectPublicKeyRef: 'k2' }],
    [
      'related algorithm',
      { relatedCryptographicAssets: [{ type: 'algorithm', ref: 'SHA256withRSA' }] },
      { relatedCryptographicAssets: [{ type: 'algorithm', ref: 'SHA256withECDSA' }] },
      '1.7',
    ],
    ['serial number', { serialNumber: '0a01' }, { serialNumber: '0a02' }, '1.7'],
    [
      'SHA-256',
      { fingerprint: { alg: 'SHA-256', content: SHA_A } },
      { fingerprint: { alg: 'SHA-256', content: SHA_B } },
      '1.7',
    ],
    [
      'SHA-1',
      { fingerprint: { alg: 'SHA-1', content: 'a'.repeat(40) } },
      { fingerprint: { alg: 'SHA-1', content: 'b'.repeat(40) } },
      '1.7',
    ],
    [
      'extension',
      { certificateExtensions: [{ commonExtensionName: 'keyUsage', commonExtensionValue: 'digitalSignature' }] },
      { certificateExtensions: [{ commonExtensionName: 'keyUsage', commonExtensionValue: 'keyAgreement' }] },
      '1.7',
    ],
  ])(
    'are distinct if and only if they differ in their %s, in one document or two',
    async (what, one, other, version) => {
      const name = what.replaceAll(' ', '-');
      const keys = [key('k1', '1'.repeat(40)), key('k2', '2'.repeat(40))];
      await send(document(`${name}-both`, [...keys, certificate('a', one), certificate('b', other)], version));
      const both = await idsOf(`${name}-both`);
      expect(both).toHaveLength(2);
      await send(document(`${name}-one`, [...keys, certificate('x', one)], version));
      await send(document(`${name}-other`, [certificate('y', other), ...keys], version));
      expect([...(await idsOf(`${name}-one`)), ...(await idsOf(`${name}-other`))].sort()).toEqual(both);
      const again = await send(
        document(`${name}-both`, [certificate('b2', other), certificate('a2', one), ...keys], version),
      );
      expect(again.body).toMatchObject({ created: 0, updated: 0 });
    },
  );

  it('have equal serial numbers in any notation', async () => {
    for (const [source, serialNumber] of [
      ['s1', '00:0A:01'],
      ['s2', '0xa01'],
      ['s3', 'a01'],
    ] as const)
      await send(document(source, [certificate('a', { serialNumber })], '1.7'));
    expect(new Set((await Promise.all(['s1', 's2', 's3'].map((source) => idsOf(source)))).flat()).size).toBe(1);
  });

  it('are not distinguished by dangling references', async () => {
    await send(document('d1', [certificate('a', { signatureAlgorithmRef: 'lost-1' })]));
    await send(document('d2', [certificate('a', { signatureAlgorithmRef: 'lost-2' })]));
    expect(await idsOf('d1')).toEqual(await idsOf('d2'));
  });

  it('are the same when an export of them is imported', async () => {
    const { body: exported } = await service.call('GET', '/api/export/cyclonedx', { key: apiKey });
    const other = await openStage();
    try {
      const { apiKey: there } = await other.seed();
      const service2 = await other.start({ role: 'api' });
      await service2.call('POST', '/api/ingest?mode=strict', { key: there, body: exported });
      const { body: again } = await service2.call('GET', '/api/export/cyclonedx', { key: there });
      expect(again.components).toEqual(exported.components);
      expect(again.dependencies).toEqual(exported.dependencies);
    } finally {
      await other.close();
    }
    const back = await send(exported);
    expect(back.body).toMatchObject({ created: 0 });
  });
});

describe('a certificate stored by the previous version', () => {
  /** Returns the ID as the previous version computed it, from names and times only. */
  const former = (name: string) =>
    hashId(
      'asset',
      'certificate',
      name,
      NAMES.subjectName,
      NAMES.issuerName,
      NAMES.notValidBefore,
      NAMES.notValidAfter,
    );

  /** Gives the asset the ID that the previous version would have computed. */
  async function goBack(source: string, name: string): Promise<void> {
    const [id] = await idsOf(source);
    for (const statement of [
      'UPDATE asset SET id = $2 WHERE id = $1',
      'UPDATE asset_occurrence SET asset_id = $2 WHERE asset_id = $1',
      'UPDATE asset_relationship SET from_id = $2 WHERE from_id = $1',
    ])
      await stage.sql(statement, [id, former(name)]);
    await stage.sql('UPDATE inventory_source SET said = NULL, document_id = NULL WHERE name = $1', [source]);
    await stage.sql(
      'DELETE FROM inventory_document d USING inventory_source s WHERE s.id = d.source_id AND s.name = $1',
      [source],
    );
  }

  it.each<[string, object, object, string]>([
    [
      'signed by an algorithm',
      { signatureAlgorithmRef: 'SHA256withRSA' },
      { signatureAlgorithmRef: 'SHA256withECDSA' },
      '1.6',
    ],
    [
      'with a SHA-256 of 1.7',
      { fingerprint: { alg: 'SHA-256', content: 'c'.repeat(64) } },
      { fingerprint: { alg: 'SHA-256', content: 'd'.repeat(64) } },
      '1.7',
    ],
    ['with a serial number', { serialNumber: '0b01' }, { serialNumber: '0b02' }, '1.7'],
  ])('%s remains the same asset, and another one next to it is distinct', async (what, facts, otherFacts, version) => {
    const name = `former ${what}`;
    const source = what.replaceAll(/[^a-z0-9]/gi, '-');
    const one = (ref: string, said: object) => ({ ...certificate(ref, said), name });
    await send(document(source, [one('a', facts)], version));
    await goBack(source, name);
    expect(await idsOf(source)).toEqual([former(name)]);
    const again = await send(document(source, [one('b', facts)], version));
    expect(again.body.created).toBe(0);
    expect(await idsOf(source)).toEqual([former(name)]);
    const both = await send(document(source, [one('c', otherFacts), one('d', facts)], version));
    expect(both.body.created).toBe(1);
    expect(await idsOf(source)).toHaveLength(2);
    expect(await idsOf(source)).toContain(former(name));
    const states = await stage.sql('SELECT state FROM asset WHERE name = $1', [name]);
    expect(states).toEqual([{ state: 'active' }, { state: 'active' }]);
  });
});

describe('keys in the inventory', () => {
  const fingerprint = (digit: string) => ({ fingerprint: { alg: 'SHA-256', content: digit.repeat(64) } });

  it('are distinguished by the CycloneDX 1.7 fingerprint, and are one key if it is equal', async () => {
    const one = (ref: string, digit: string, more: object = {}) =>
      material(ref, { type: 'secret-key', ...fingerprint(digit), ...more }, `${ref}.c`);
    await send(document('f1', [one('a', '1'), one('b', '2')], '1.7'));
    await send(document('f2', [one('c', '2')], '1.7'));
    const [first, second] = [
      await idsOf('f1', 'related-crypto-material'),
      await idsOf('f2', 'related-crypto-material'),
    ];
    expect(first).toHaveLength(2);
    expect(first).toContain(second[0]);
    await send(document('f1', [one('a', '3'), one('b', '2')], '1.7'));
    expect(await stage.sql(`SELECT 1 FROM asset WHERE id = ANY($1) AND state = 'active'`, [first])).toHaveLength(1);
    const id = 'an-id-of-its-own-kind';
    await send(document('f3', [one('d', '4', { id })], '1.7'));
    await send(document('f4', [one('e', '5', { id })], '1.7'));
    expect(await idsOf('f3', 'related-crypto-material')).not.toEqual(await idsOf('f4', 'related-crypto-material'));
  });
});
