import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApprover, newGuardedKey } from '../approvals/approvers.js';
import { newApiKey } from '../support/access.js';
import { officialCheck } from '../support/cyclonedx-schema.js';
import { isSignedBy } from '../support/json-signature.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, publishedKey, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { about, algorithm, bom, material } from './documents.js';

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  const names = Array.from({ length: 4000 }, (_, i) => algorithm({ name: `Serpent-${i}`, at: `häfen/ß-${i}.ts` }));
  const key = material(
    'key “one”',
    { type: 'public-key', id: 'a key with a long id', algorithmRef: 'Serpent-1' },
    'a\u007f\n.ts',
  );
  const { status } = await service.call('POST', '/api/ingest', {
    key: apiKey,
    body: bom([...names, key], about('shop')),
  });
  expect(status).toBe(200);
});
afterAll(() => stage.close());

const signed = (query: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/api/export/cyclonedx?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
  });
const refused = (query: string, key = apiKey): Promise<Answer> =>
  service.call('POST', `/api/export/cyclonedx?${query}`, { key });
const requests = async (): Promise<{ digest: string; status: string; metadata: object; key: { name: string } }[]> =>
  (await service.call('GET', '/api/v1/sign/requests?limit=200', { key: apiKey })).body.items;

describe('an export with an embedded signature', () => {
  it.skipIf(!has('python3')).each([
    ['everything by an EC key', 'default', ''],
    ['everything by an RSA key', 'demo-rsa', ''],
    ['what was asked for, with what the service has itself', 'default', '&name=Serpent-1*&own=true'],
    ['nothing', 'default', '&name=nothing'],
  ])('verifies in an independent verifier: %s', async (_, key, filter) => {
    const response = await signed(`key=${key}${filter}`, { 'accept-encoding': 'gzip' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    const text = await response.text();
    const { publicKey } = await publishedKey(service, apiKey, key);
    expect(isSignedBy(text, publicKey)).toBe(true);
    expect(isSignedBy(text.replace('"version":1', '"version":2'), publicKey)).toBe(false);
  });

  it('equals the export plus a signature, is valid in the official schema, and is not cached', async () => {
    const response = await signed('key=default&name=Serpent-1*', { 'accept-encoding': 'identity' });
    expect(response.headers.get('cache-control')).toContain('no-store');
    const { signature, ...document } = (await response.json()) as Record<string, unknown>;
    const plain = await service.call('GET', '/api/export/cyclonedx?name=Serpent-1*', { key: apiKey });
    expect(document).toEqual(plain.body);
    expect(signature).toMatchObject({ algorithm: 'ES256', keyId: 'default', publicKey: { kty: 'EC', crv: 'P-256' } });
    const check = officialCheck();
    check({ ...document, signature });
    expect(check.errors ?? []).toEqual([]);
  });

  it('is recorded and counted as a signing request', async () => {
    await createKey(service, apiKey, { name: 'once', type: 'ec-p384', constraints: { lifetime: 1 } });
    expect(await (await signed('key=once&name=Serpent-7')).json()).toMatchObject({ signature: { algorithm: 'ES384' } });
    const [newest] = await requests();
    expect(newest).toMatchObject({
      status: 'SIGNED',
      key: { name: 'once' },
      metadata: { filename: 'inventory.cdx.json' },
    });
    assertProblem(await refused('key=once'), { status: 409, code: 'key-policy.lifetime' });
  });

  it('is rejected with the reason before anything is sent or recorded', async () => {
    const files = { name: 'only-jars', type: 'ec-p256', constraints: { fileNames: ['*.jar'] } };
    await createKey(service, apiKey, files);
    await createKey(service, apiKey, { name: 'quantum', type: 'ml-dsa-65' });
    const before = (await requests()).length;
    assertProblem(await refused(''), { status: 400, code: 'request.invalid' });
    assertProblem(await refused('key=nobody'), { status: 422, code: 'signing-key.unknown' });
    assertProblem(await refused('key=quantum'), { status: 400, code: 'scheme.wrong-key' });
    assertProblem(await refused('key=only-jars'), { status: 403, code: 'key-policy.file-name' });
    assertProblem(await refused('key=default&q=level>'), { status: 400, code: 'query.invalid' });
    expect(await requests()).toHaveLength(before);
  });

  it('is refused for a key that requires approval, because only the CLI can wait', async () => {
    const place = { stage, service, apiKey };
    const { key } = await newGuardedKey(place, [{ members: [await newApprover(place)], threshold: 1 }]);
    const before = (await requests()).length;
    assertProblem(await refused(`key=${key.name}`), { status: 403, code: 'approval.needed' });
    expect(await requests()).toHaveLength(before);
  });

  it('occupies no slot if its caller disconnects before it starts', async () => {
    const gone = ['gzip', 'identity'].map((encoding) =>
      fetch(`${service.url}/api/export/cyclonedx?key=default`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'accept-encoding': encoding },
        signal: AbortSignal.timeout(30),
      }).catch((error: Error) => error.name),
    );
    expect(new Set(await Promise.all(gone))).toEqual(new Set(['TimeoutError']));
    // A caller may run two exports at a time.
    const both = () => Promise.all(Array.from({ length: 2 }, () => signed('key=default&name=nothing')));
    await until('both at once', 20, async () => (await both()).every(({ status }) => status === 200));
  });

  it('requires both scopes', async () => {
    const reader = await newApiKey(service, apiKey, ['inventory:read']);
    assertProblem(await refused('key=default', reader.key), { status: 403, code: 'insufficient_scope' });
  });
});

it.skipIf(!has('python3'))('an attestation can have an embedded signature', async () => {
  const body = { pack: 'cnsa-2.0', statement: 'As it stands.', evidence: [{ description: 'Minutes' }] };
  const { body: made } = await service.call('POST', '/api/attestations', { key: apiKey, body });
  const path = `/api/attestations/${made.id}/cyclonedx`;
  const answer = await service.call('POST', `${path}?key=default`, { key: apiKey });
  expect(answer.status).toBe(200);
  const { publicKey } = await publishedKey(service, apiKey, 'default');
  expect(isSignedBy(JSON.stringify(answer.body), publicKey)).toBe(true);
  const { signature: _, ...document } = answer.body;
  expect(document).toEqual((await service.call('GET', path, { key: apiKey })).body);
  const check = officialCheck();
  check(answer.body);
  expect(check.errors ?? []).toEqual([]);
});
