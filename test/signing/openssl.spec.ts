import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIGEST_BYTES, KEY_TYPES, SCHEMES } from '../../src/hsm/key-vault.js';
import { Openssl } from '../support/openssl.js';
import type { Service } from '../support/service.js';
import { type PublishedKey, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES);
const WAYS = ['sync', 'async'] as const;
const openssl = new Openssl();
const release = openssl.keep('release-1.0.0.tar.gz', Buffer.from('A file that was released.\n'.repeat(5000)));
const tampered = openssl.keep('tampered.tar.gz', Buffer.from('A file that was replaced.\n'.repeat(5000)));

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

describe.each(KEY_TYPES)('a key of type %s', (type) => {
  const schemes = SCHEMES.filter((scheme) => scheme.startsWith('ecdsa-') === type.startsWith('ec-'));
  let key: PublishedKey;

  beforeAll(async () => {
    const made = await service.call('POST', '/api/v1/signing-keys', {
      key: apiKey,
      body: { name: `of-${type}`, type },
    });
    expect(made.status).toBe(201);
    key = made.body;
  });

  const matrix = WAYS.flatMap((way) =>
    schemes.flatMap((scheme) => ALGORITHMS.map((algorithm) => ({ way, scheme, algorithm }))),
  );

  it.each(matrix)('$way $scheme over $algorithm: openssl accepts the file', async ({ way, scheme, algorithm }) => {
    const digest = openssl.digest(release, algorithm);
    const answer = await sign(service, {
      key: apiKey,
      body: { digest, algorithm, scheme, key: key.name, async: way === 'async' },
    });
    expect(answer.status).toBe(way === 'async' ? 202 : 200);
    const { body } = way === 'async' ? await read(service, apiKey, answer.body.requestId) : answer;
    expect(body).toMatchObject({ status: 'SIGNED', algorithm, scheme, format: 'raw', digest, key: { name: key.name } });
    const signature = Buffer.from(body.signature, 'base64');
    const claim = { publicKey: key.publicKey, algorithm, scheme, signature };
    expect(openssl.accepts(release, claim)).toBe(true);
    expect(openssl.accepts(tampered, claim)).toBe(false);
  });

  it('signs by the scheme that most verifiers expect when none is asked for', async () => {
    const { body } = await sign(service, {
      key: apiKey,
      body: { digest: openssl.digest(release, 'sha256'), key: key.id },
    });
    expect(body).toMatchObject({ scheme: type.startsWith('rsa') ? 'rsa-pkcs1v15' : 'ecdsa-der', algorithm: 'sha256' });
    const signature = Buffer.from(body.signature, 'base64');
    expect(openssl.accepts(release, { publicKey: key.publicKey, ...body, signature })).toBe(true);
  });
});

it('the same answer is given on every later look', async () => {
  const { headers, body } = await sign(service, {
    key: apiKey,
    body: { digest: openssl.digest(release, 'sha256'), reference: 'build-4711', metadata: { filename: 'a.tar.gz' } },
  });
  const path = headers.get('location') ?? '';
  const later = await service.call('GET', path, { key: apiKey });
  expect(later.status).toBe(200);
  const { createdAt, finishedAt, ...stable } = later.body;
  expect(body).toMatchObject(stable);
  expect(stable).toMatchObject({ reference: 'build-4711', metadata: { filename: 'a.tar.gz' } });
  expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.parse(finishedAt));
});

it.each(['SHA-256', 'sha2-256', 'SHA256'])('the spelling %s is understood', async (algorithm) => {
  const { body } = await sign(service, { key: apiKey, body: { digest: openssl.digest(release, 'sha256'), algorithm } });
  expect(body).toMatchObject({ status: 'SIGNED', algorithm: 'sha256' });
});

it('a list shows the requests newest first, page by page, and every one once', async () => {
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
