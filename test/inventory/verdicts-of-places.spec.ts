import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { newApiKey } from '../support/access.js';
import { about, algorithm, bom } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
});
afterAll(() => stage.close());

type Component = Record<string, unknown>;

async function send(source: string, components: readonly Component[], more: object = {}) {
  const document = bom([...components], { ...about(source), ...more });
  const answer = await service.call('POST', '/api/ingest', { key: apiKey, body: document });
  expect(answer.status).toBe(200);
  return answer.body as { created: number; updated: number };
}

async function shown(source: string, name: string): Promise<{ id: string; level: string }[]> {
  const query = `source=${encodeURIComponent(source)}&name=${encodeURIComponent(name)}&state=active`;
  const { body } = await service.call('GET', `/api/assets?${query}`, { key: apiKey });
  return body.items;
}

/** Returns and deletes the alert events about assets. */
async function happenings(): Promise<{ type: string; source: string; facts: Record<string, unknown> }[]> {
  const rows = await stage.sql<{ type: string; source: string; facts: Record<string, unknown> }>(
    `DELETE FROM happening WHERE type LIKE 'asset.%' RETURNING type, subject_name AS source, facts`,
  );
  return rows;
}

const SUITE = 'TLS_AES_256_GCM_SHA384';
const tlsProtocol = (suite: object, more: object = {}): Component => ({
  type: 'cryptographic-asset',
  'bom-ref': 'tls',
  name: 'TLS 1.3',
  cryptoProperties: {
    assetType: 'protocol',
    protocolProperties: { type: 'tls', version: '1.3', cipherSuites: [suite], ...more },
  },
});
const tls = (group: string): Component[] => [
  algorithm({ name: group, properties: { primitive: 'key-agree' } }),
  algorithm({ name: 'AES-256-GCM' }),
  tlsProtocol({ name: SUITE, algorithms: ['AES-256-GCM'] }, { cryptoRefArray: [group] }),
];
const cipher = (target: string): Component[] => [algorithm({ name: 'PaymentCipher' }), algorithm({ name: target })];
const certificate = (signature: string): Component[] => [
  algorithm({ name: signature, properties: { primitive: 'signature' } }),
  {
    type: 'cryptographic-asset',
    'bom-ref': 'leaf',
    name: 'payment.example',
    cryptoProperties: {
      assetType: 'certificate',
      certificateProperties: {
        subjectName: 'CN=payment.example',
        issuerName: 'CN=CA',
        notValidBefore: '2026-01-01T00:00:00Z',
        notValidAfter: '2027-01-01T00:00:00Z',
        signatureAlgorithmRef: signature,
        subjectPublicKeyRef: signature,
      },
    },
  },
];
const uses = (target: string) => ({ dependencies: [{ ref: 'PaymentCipher', dependsOn: [target] }] });

/** Two hosts that report different facts under the same name, with the components of both hosts and the resulting levels. */
const TRUTHS: [
  string,
  { name: string; a: [Component[], object]; b: [Component[], object]; levels: [string, string] },
][] = [
  ['a protocol', { name: 'TLS 1.3', a: [tls('X25519MLKEM768'), {}], b: [tls('x25519'), {}], levels: ['NONE', 'HIGH'] }],
  [
    'an algorithm whose name means none',
    {
      name: 'PaymentCipher',
      a: [cipher('AES-256'), uses('AES-256')],
      b: [cipher('DES'), uses('DES')],
      levels: ['NONE', 'CRITICAL'],
    },
  ],
  [
    'a certificate without fingerprint',
    {
      name: 'payment.example',
      a: [certificate('ML-DSA-65'), {}],
      b: [certificate('RSA-1024'), {}],
      levels: ['NONE', 'CRITICAL'],
    },
  ],
];

describe.each(TRUTHS)('two hosts that report different facts about %s', (what, { name, a, b, levels }) => {
  const hosts = [`${what} A`, `${what} B`] as const;
  const say = { [hosts[0]]: a, [hosts[1]]: b };
  const report = (host: string, change = '') => {
    const [components, more] = say[host] ?? [[], {}];
    // Adds another algorithm, so that the document differs from the previous document.
    return send(host, [...components, algorithm({ name: `Serpent-${change}`, ref: 'change' })], more);
  };

  it('are both correct in any order, even ten times, without false change notifications', async () => {
    const orders = [hosts, hosts.toReversed()];
    for (let round = 0; round < 10; round += 1) {
      for (const host of orders[round % 2] ?? []) await report(host, `${round}`);
      for (const [index, host] of hosts.entries()) {
        const [only, ...more] = await shown(host, name);
        expect(more).toEqual([]);
        expect(only?.level).toBe(levels[index]);
      }
      const told = await happenings();
      expect(told.filter(({ type }) => type === 'asset.risk-changed')).toEqual([]);
      const found = told.filter(({ facts }) => String(facts['examples']).includes(name));
      expect(found.map(({ source }) => source)).toEqual(round === 0 ? hosts : []);
    }
  });

  it('cause a notification only for the location that changed, and only once', async () => {
    const [host, other] = hosts;
    const before = await shown(other, name);
    const mine = await shown(host, name);
    await service.call('PATCH', `/api/assets/${mine[0]?.id}`, {
      key: apiKey,
      headers: { 'if-match': '"1"' },
      body: { owner: 'payments' },
    });
    say[host] = b;
    await report(host, 'changed');
    expect((await shown(host, name)).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    const told = (await happenings()).filter(({ type }) => type === 'asset.risk-changed');
    expect(told.map(({ source }) => source)).toEqual([host]);
    await report(host, '1');
    expect((await happenings()).filter(({ type }) => type === 'asset.risk-changed')).toEqual([]);
    say[host] = a;
    await report(host, '2');
    const back = (await happenings()).filter(({ type }) => type === 'asset.risk-changed');
    expect(back.map(({ source }) => source)).toEqual([host]);
    expect(await shown(host, name)).toMatchObject([{ id: mine[0]?.id, owner: 'payments', level: levels[0] }]);
    expect((await shown(other, name)).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });
});

describe('an asset that replaces another one', () => {
  it('inherits its owner and labels', async () => {
    await send('heir', tls('X25519'));
    const [old] = await shown('heir', 'TLS 1.3');
    const body = { owner: 'network', labels: ['edge'] };
    const answer = await service.call('PATCH', `/api/assets/${old?.id}`, {
      key: apiKey,
      headers: { 'if-match': '"1"' },
      body,
    });
    expect(answer.status).toBe(200);
    await send('heir', tls('X448'));
    const [heir] = await shown('heir', 'TLS 1.3');
    expect(heir).toMatchObject(body);
    expect(heir?.id).not.toBe(old?.id);
    const { body: owners } = await service.call('GET', '/api/analytics/owners', { key: apiKey });
    expect(JSON.stringify(owners)).toContain('network');
  });
});

describe('an asset of another owner that a reporter also shows', () => {
  it('does not pass its owner and labels to a replacement shown by the reporter', async () => {
    const { key } = await newApiKey(service, apiKey, ['inventory:report']);
    const report = async (components: readonly Component[]) => {
      const body = bom([...components], about('reporter of a share'));
      expect((await service.call('POST', '/api/ingest', { key, body })).status).toBe(200);
    };
    await send('first of a share', tls('secp521r1'));
    const [shared] = await shown('first of a share', 'TLS 1.3');
    const headers = { 'if-match': '"1"' };
    const labelled = { key: apiKey, headers, body: { owner: 'nobody-cares', labels: ['risk-accepted'] } };
    expect((await service.call('PATCH', `/api/assets/${shared?.id}`, labelled)).status).toBe(200);
    await report(tls('secp521r1'));
    expect((await shown('reporter of a share', 'TLS 1.3'))[0]?.id).toBe(shared?.id);
    await report(tls('secp384r1'));
    expect(await shown('reporter of a share', 'TLS 1.3')).toMatchObject([{ owner: null, labels: [] }]);
  });
});

describe('assets of the previous version', () => {
  /** Assigns a protocol the ID that the previous version computed from the name and facts, which is the ID of an asset without references. */
  async function goBack(source: string): Promise<string> {
    await send(`${source} bare`, [tlsProtocol({ name: SUITE })]);
    const [plain] = await shown(`${source} bare`, 'TLS 1.3');
    const [now] = await shown(source, 'TLS 1.3');
    const [from, to] = [now?.id, plain?.id];
    await stage.sql('DELETE FROM asset WHERE id = $1', [to]);
    await stage.sql('DELETE FROM asset_occurrence WHERE asset_id = $1', [to]);
    await stage.sql('UPDATE asset SET id = $2 WHERE id = $1', [from, to]);
    await stage.sql('UPDATE asset_occurrence SET asset_id = $2 WHERE asset_id = $1', [from, to]);
    await stage.sql('UPDATE asset_relationship SET from_id = $2 WHERE from_id = $1', [from, to]);
    await stage.sql('UPDATE inventory_source SET said = NULL, document_id = NULL WHERE name = $1', [source]);
    await stage.sql(
      'DELETE FROM inventory_document d USING inventory_source s WHERE s.id = d.source_id AND s.name = $1',
      [source],
    );
    return plain?.id ?? '';
  }

  it('keep their identity as long as documents contain the same facts', async () => {
    await send('old host', tls('X25519'));
    const former = await goBack('old host');
    expect((await send('old host', tls('X25519'))).created).toBe(0);
    expect((await shown('old host', 'TLS 1.3')).map(({ id }) => id)).toEqual([former]);
    await send('old host', tls('X25519MLKEM768'));
    expect((await shown('old host', 'TLS 1.3')).map(({ level }) => level)).toEqual(['NONE']);
  });
});
