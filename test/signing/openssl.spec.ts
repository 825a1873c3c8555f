import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIGEST_BYTES, SCHEMES, TOKEN_KEY_TYPES } from '../../src/hsm/key-vault.js';
import { Openssl } from '../support/openssl.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, type PublishedKey, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES);
const WAYS = ['sync', 'async'] as const;
const openssl = new Openssl();
const content = Buffer.from('A file that was released.\n'.repeat(5000));
const release = openssl.keep('release-1.0.0.tar.gz', content);
const tampered = openssl.keep('tampered.tar.gz', flipped(content));
const digests = new Map(ALGORITHMS.map((algorithm) => [algorithm, openssl.digest(release, algorithm)]));

/** Returns the bytes with one bit in the middle flipped. */
function flipped(bytes: Buffer): Buffer {
  const at = bytes.length >> 1;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([bytes.readUInt8(at) ^ 1]), bytes.subarray(at + 1)]);
}

let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(async () => {
  openssl.remove();
  await stage.close();
});

// openssl 3.0 does not support ML-DSA; test/signing/ml-dsa.spec.ts verifies ML-DSA signatures with other implementations.
describe.each(TOKEN_KEY_TYPES)('a key of type %s', (type) => {
  const schemes = SCHEMES.filter((scheme) => scheme.startsWith(type.startsWith('ec-') ? 'ecdsa-' : 'rsa-'));
  const matrix = WAYS.flatMap((way) =>
    schemes.flatMap((scheme) => ALGORITHMS.map((algorithm) => ({ way, scheme, algorithm }))),
  );
  type Case = (typeof matrix)[number];
  let key: PublishedKey;
  let answers: Map<string, Answer>;

  beforeAll(async () => {
    key = await createKey(service, apiKey, { name: `of-${type}`, type });
    answers = new Map(await Promise.all(matrix.map(async (one) => [nameOf(one), await ask(one)] as const)));
  });

  const nameOf = ({ way, scheme, algorithm }: Case) => `${way} ${scheme} ${algorithm}`;
  const ask = ({ way, scheme, algorithm }: Case): Promise<Answer> =>
    sign(service, {
      key: apiKey,
      body: { digest: digests.get(algorithm), algorithm, scheme, key: key.name, async: way === 'async' },
    });

  it.each(matrix)('$way $scheme over $algorithm: openssl accepts the file', async ({ way, scheme, algorithm }) => {
    const digest = digests.get(algorithm);
    const answer = answers.get(nameOf({ way, scheme, algorithm }));
    expect(answer?.status).toBe(way === 'async' ? 202 : 200);
    const body = way === 'async' ? (await read(service, apiKey, answer?.body.requestId)).body : answer?.body;
    expect(body).toMatchObject({ status: 'SIGNED', algorithm, scheme, format: 'raw', digest, key: { name: key.name } });
    const signature = Buffer.from(body.signature, 'base64');
    const claim = { publicKey: key.publicKey, algorithm, scheme, signature };
    expect(openssl.accepts(release, claim)).toBe(true);
    expect(openssl.accepts(tampered, claim)).toBe(false);
  });

  it('signs with the scheme that most verifiers expect by default', async () => {
    const { body } = await sign(service, {
      key: apiKey,
      body: { digest: digests.get('sha256'), key: key.id },
    });
    expect(body).toMatchObject({ scheme: type.startsWith('rsa') ? 'rsa-pkcs1v15' : 'ecdsa-der', algorithm: 'sha256' });
    const signature = Buffer.from(body.signature, 'base64');
    expect(openssl.accepts(release, { publicKey: key.publicKey, ...body, signature })).toBe(true);
    expect(openssl.accepts(release, { publicKey: key.publicKey, ...body, signature: flipped(signature) })).toBe(false);
  });
});

it('a request always returns the same result', async () => {
  const { headers, body } = await sign(service, {
    key: apiKey,
    body: { digest: digests.get('sha256'), reference: 'build-4711', metadata: { filename: 'a.tar.gz' } },
  });
  const path = headers.get('location') ?? '';
  const later = await service.call('GET', path, { key: apiKey });
  expect(later.status).toBe(200);
  const { createdAt, finishedAt, ...stable } = later.body;
  expect(body).toMatchObject(stable);
  expect(stable).toMatchObject({ reference: 'build-4711', metadata: { filename: 'a.tar.gz' } });
  expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.parse(finishedAt));
});

it.each(['SHA-256', 'sha2-256', 'SHA256'])('the spelling %s is accepted', async (algorithm) => {
  const { body } = await sign(service, { key: apiKey, body: { digest: digests.get('sha256'), algorithm } });
  expect(body).toMatchObject({ status: 'SIGNED', algorithm: 'sha256' });
});

it('a list returns every request once, newest first, paginated', async () => {
  const seen: string[] = [];
  let path: string | null = '/api/v1/sign/requests?limit=50&status=SIGNED';
  while (path !== null) {
    const { status, body } = await service.call('GET', path, { key: apiKey });
    expect(status).toBe(200);
    seen.push(...body.items.map(({ requestId }: { requestId: string }) => requestId));
    path = body.nextCursor === null ? null : `/api/v1/sign/requests?limit=50&status=SIGNED&cursor=${body.nextCursor}`;
  }
  const rows = await stage.sql<{ id: string }>(
    `SELECT id FROM signing_request WHERE status = 'SIGNED' ORDER BY id DESC`,
  );
  expect(seen).toEqual(rows.map(({ id }) => id));
  expect(seen.length).toBeGreaterThan(100);
});
