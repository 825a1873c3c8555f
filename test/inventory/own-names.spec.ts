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
  const cipher = algorithm({ name: 'PaymentCipher' });
  const key = material('payment key', {
    type: 'secret-key',
    id: 'a key that is one of a kind',
    algorithmRef: 'PaymentCipher',
  });
  await call('POST', '/api/ingest', bom([cipher, key], about('shop')));
  await call('POST', '/api/ingest', bom([cipher, algorithm({ name: 'AcmeSign' })], about('till')));
});
afterAll(() => stage.close());

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, path, { key: apiKey, ...(body === undefined ? {} : { body }) });
const NAMES = '/api/quantum-risk/names';
const teach = (name: string, means: string) => call('PUT', NAMES, { name, means, reason: 'the manual of the vendor' });
async function judged({ status, body }: Answer): Promise<number> {
  expect(status).toBe(202);
  await until('the end of judging anew', 45, async () => {
    const { body: state } = await call('GET', `/api/quantum-risk/reclassifications/${body.version}`);
    return state.status === 'DONE';
  });
  return body.version;
}
const shown = async (name: string) => {
  const { body } = await call('GET', `/api/assets?name=${encodeURIComponent(name)}`);
  const { level, family, rule } = body.items[0];
  return { level, family, rule };
};

describe('an unknown algorithm name', () => {
  it('is rated unknown, and the finding contains the unread name', async () => {
    expect(await shown('PaymentCipher')).toMatchObject({ level: 'LOW', family: null, rule: 'Z-UNKNOWN-ALG' });
    const { body } = await call('GET', '/api/assets?name=PaymentCipher');
    const { body: asset } = await call('GET', `/api/assets/${body.items[0].id}`);
    expect(asset.findings[0]).toMatchObject({ rule: 'Z-UNKNOWN-ALG', subject: 'PaymentCipher' });
  });

  it('is taught once, for the algorithm and for the keys that use it', async () => {
    await judged(await teach('paymentcipher', 'DES'));
    expect(await shown('PaymentCipher')).toMatchObject({ level: 'CRITICAL', family: 'DES' });
    expect(await shown('payment key')).toMatchObject({ level: 'CRITICAL', family: 'DES' });
    await judged(await teach('PaymentCipher', 'AES-256-GCM'));
    expect(await shown('payment key')).toMatchObject({ level: 'NONE', family: 'AES' });
  });

  it('is known in later documents, and stored with who taught it and why', async () => {
    const facts = { type: 'secret-key', id: 'another key that is one of a kind', algorithmRef: 'PaymentCipher' };
    const components = [algorithm({ name: 'PaymentCipher' }), material('later key', facts)];
    await call('POST', '/api/ingest', bom(components, about('later')));
    expect(await shown('later key')).toMatchObject({ level: 'NONE', family: 'AES' });
    const { body } = await call('GET', NAMES);
    expect(body.items).toEqual([
      {
        name: 'PaymentCipher',
        means: 'AES-256-GCM',
        reason: 'the manual of the vendor',
        by: expect.any(String),
        at: expect.any(String),
      },
    ]);
    const [entry] = await stage.sql<{ detail: { before: { means: string }; after: { means: string } } }>(
      `SELECT detail FROM audit_entry WHERE action = 'inventory.name-taught' ORDER BY id DESC LIMIT 1`,
    );
    expect([entry?.detail.before.means, entry?.detail.after.means]).toEqual(['DES', 'AES-256-GCM']);
  });

  it('can be forgotten again', async () => {
    await judged(await call('DELETE', `${NAMES}?name=PaymentCipher`));
    expect(await shown('PaymentCipher')).toMatchObject({ level: 'LOW', rule: 'Z-UNKNOWN-ALG' });
    expect((await call('DELETE', `${NAMES}?name=PaymentCipher`)).body.code).toBe('name.missing');
  });

  it('does not affect the built-in rules, and survives a rule change', async () => {
    await judged(await teach('AcmeSign', 'ECDSA-P-256'));
    const [row] = await stage.sql<{ follows: boolean }>(
      'SELECT follows_product AS follows FROM risk_rule_set ORDER BY version DESC LIMIT 1',
    );
    expect(row?.follows).toBe(true);
    const { body: rules } = await call('GET', '/api/quantum-risk/rules');
    const path = '/api/quantum-risk/rules/K-KEYSTORE';
    await service.call('DELETE', path, { key: apiKey, headers: { 'if-match': `"${rules.version}"` } });
    expect((await call('GET', NAMES)).body.items).toHaveLength(1);
  });
});

describe('a taught name', () => {
  it.each(['AnotherCipher', 'SHA256withFOO', ''])('cannot map to something unknown: %j', async (means) => {
    expect((await teach('PaymentCipher', means)).status).toBe(400);
  });

  it('cannot be set by read-only users', async () => {
    const { key } = await newApiKey(service, apiKey, ['inventory:read']);
    const body = { name: 'a', means: 'AES', reason: 'because' };
    expect((await service.call('PUT', NAMES, { key, body })).status).toBe(403);
  });
});
