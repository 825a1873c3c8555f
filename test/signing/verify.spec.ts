import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certifiedKey } from '../support/certified-keys.js';
import { type CertifiedStage, extractedData, makeProgram, openCertifiedStage } from '../support/certified-stage.js';
import { has } from '../support/peers.js';
import type { Answer } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';

const TYPES = ['rsa-2048', 'ec-p256', 'ec-p384', 'ec-p521'];
const CONTENT = Buffer.from('a file that was released');

let certified: CertifiedStage;
let service: CertifiedStage['service'];

beforeAll(async () => {
  certified = await openCertifiedStage(TYPES, { shim: true });
  const { apiKey, authority } = certified;
  await certifiedKey(certified.service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
  // A service that has no HSM at all: public things are enough.
  service = await certified.stage.start({ role: 'api', settings: { SVC_PKCS11_LIBRARY: '/nowhere/pkcs11.so' } });
});
afterAll(() => certified.close());

async function signed(body: Record<string, unknown>): Promise<Answer['body']> {
  const answer = await sign(certified.service, { key: certified.apiKey, body });
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status: 200, body: { status: 'SIGNED' } });
  return answer.body;
}

const verify = (body: object): Promise<Answer> =>
  service.call('POST', '/api/v1/verify', { key: certified.apiKey, body });

function flipped(base64: string, at = -1): string {
  const bytes = Buffer.from(base64, 'base64');
  const place = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
  return bytes.toString('base64');
}

interface Case {
  readonly key: string;
  readonly format: string;
  readonly algorithm: string;
  readonly scheme?: string;
}

const JWS_DIGEST: Record<string, string> = { 'ec-p384': 'sha384', 'ec-p521': 'sha512' };
const CASES: Case[] = TYPES.flatMap((key) => [
  { key, format: 'raw', algorithm: 'sha256' },
  { key, format: 'raw', algorithm: 'sha512' },
  { key, format: 'raw', algorithm: 'sha3-384', scheme: key.startsWith('rsa') ? 'rsa-pss' : 'ecdsa-raw' },
  { key, format: 'cms', algorithm: 'sha384' },
  { key, format: 'jws', algorithm: JWS_DIGEST[key] ?? 'sha256' },
  { key, format: 'sigstore-bundle', algorithm: 'sha256' },
]);

describe('POST /api/v1/verify, at a process without an HSM', () => {
  it.each(CASES)('$format by $key $algorithm $scheme: valid, and not for another file', async (one) => {
    const digest = digestOf(CONTENT, one.algorithm);
    const { signature, requestId } = await signed({ digest, ...one });
    const asked = { digest, signature, ...one };
    const { status, body } = await verify(asked);
    expect({ status, body }).toMatchObject({ status: 200, body: { valid: true, key: { name: one.key, version: 1 } } });
    expect(body.checks.map(({ check }: { check: string }) => check)).toEqual(['signature', 'certificate']);
    expect((await verify({ requestId })).body).toEqual(body);
    expect((await verify({ ...asked, key: undefined, scheme: undefined })).body).toEqual(body);
    const others = [
      { ...asked, digest: digestOf('another file', one.algorithm) },
      { ...asked, key: one.key === 'ec-p256' ? 'default' : 'ec-p256', scheme: undefined },
      { ...asked, version: 2 },
      { requestId, signature: flipped(signature, one.format === 'jws' ? -3 : -1) },
    ];
    for (const other of others) {
      const answer = await verify(other);
      expect({ status: answer.status, valid: answer.body.valid ?? false }).toMatchObject({ valid: false });
    }
  });

  it('finds every flipped byte of a raw signature', async () => {
    const digest = digestOf(CONTENT);
    const { signature } = await signed({ digest, key: 'ec-p256' });
    const size = Buffer.from(signature, 'base64').length;
    const answers = await Promise.all(
      Array.from({ length: size }, (_, at) => verify({ digest, signature: flipped(signature, at), key: 'ec-p256' })),
    );
    expect(answers.map(({ body }) => body.valid)).toEqual(answers.map(() => false));
  });

  it.each(['raw', 'cms', 'sigstore-bundle'])(
    '%s with a timestamp: says when, and finds a wrong one',
    async (format) => {
      const digest = digestOf(CONTENT);
      const before = Math.floor(Date.now() / 1000) * 1000;
      const { requestId, timestamp, signature } = await signed({ digest, key: 'ec-p256', format, timestamp: true });
      const { body } = await verify({ requestId });
      expect(body).toMatchObject({ valid: true });
      expect(new Date(body.signedBefore).getTime()).toBeGreaterThanOrEqual(before);
      expect(body.checks).toContainEqual(expect.objectContaining({ check: 'timestamp', ok: true }));
      const alone = await verify({ digest, signature, timestamp, key: 'ec-p256', format });
      expect(alone.body.valid).toBe(true);
      const wrong = await verify({ requestId, timestamp: flipped(timestamp) });
      expect(wrong.body).toMatchObject({ valid: false });
      expect(wrong.body.checks).toContainEqual(expect.objectContaining({ check: 'timestamp', ok: false }));
      const another = await signed({ digest, key: 'ec-p256', timestamp: true });
      expect((await verify({ requestId, timestamp: another.timestamp })).body.valid).toBe(false);
    },
  );

  it.skipIf(!has('osslsigncode'))('authenticode: valid for the hash of the program alone', async () => {
    makeProgram('exe', certified.at('p.exe'), 'a program');
    const content = extractedData(certified.at('p.exe'), 'sha256');
    const { signature, digest } = await signed({ format: 'authenticode', content, key: 'rsa-2048' });
    const asked = { format: 'authenticode', digest, signature, key: 'rsa-2048' };
    expect((await verify(asked)).body).toMatchObject({ valid: true });
    expect((await verify({ ...asked, digest: digestOf('x') })).body.valid).toBe(false);
    expect((await verify({ ...asked, signature: flipped(signature) })).body.valid).toBe(false);
  });

  it('finds the key among all that signed the file, and names them when it was none', async () => {
    const digest = digestOf('a file that two keys signed');
    const keys = ['ec-p384', 'rsa-2048'];
    const signatures: string[] = [];
    for (const key of keys) signatures.push((await signed({ digest, key })).signature);
    const answers = await Promise.all(signatures.map((signature) => verify({ digest, signature })));
    expect(answers.map(({ body }) => [body.valid, body.key.name])).toEqual(keys.map((key) => [true, key]));
    const { body } = await verify({ digest, signature: flipped(signatures[0] ?? '') });
    expect(body).toMatchObject({ valid: false, checks: [{ check: 'signature', ok: false }] });
    for (const key of keys) expect(body.checks[0].detail).toContain(`"${key}"`);
  });

  it('the requests for a file are found by its digest', async () => {
    const digest = digestOf('a file that was signed twice');
    const asked = [await signed({ digest, key: 'ec-p256' }), await signed({ digest, key: 'ec-p256', format: 'cms' })];
    const path = `/api/v1/sign/requests?digest=${encodeURIComponent(digest)}`;
    const { body } = await service.call('GET', path, { key: certified.apiKey });
    expect(body.items.map(({ requestId }: { requestId: string }) => requestId)).toEqual(
      asked.map(({ requestId }) => requestId).reverse(),
    );
    const next = await service.call('GET', `${path}&limit=1`, { key: certified.apiKey });
    const rest = await service.call('GET', `${path}&limit=1&cursor=${next.body.nextCursor}`, { key: certified.apiKey });
    expect(rest.body.items).toMatchObject([{ requestId: asked[0]?.requestId }]);
    expect(rest.body.nextCursor).toBeNull();
    const other = await service.call('GET', '/api/v1/sign/requests?digest=AAAA', { key: certified.apiKey });
    expect(other.body.items).toEqual([]);
  });

  it('names the version that signed after a rotation', async () => {
    const digest = digestOf(CONTENT);
    const { body: key } = await certified.service.call('POST', '/api/v1/signing-keys', {
      key: certified.apiKey,
      body: { name: 'rotated', type: 'ec-p256' },
    });
    const old = await signed({ digest, key: 'rotated' });
    await certified.service.call('POST', `/api/v1/signing-keys/${key.id}/rotate`, { key: certified.apiKey, body: {} });
    const fresh = await signed({ digest, key: 'rotated' });
    const versions = await Promise.all(
      [old, fresh].map(async ({ signature }) => (await verify({ digest, signature, key: 'rotated' })).body.key.version),
    );
    expect(versions).toEqual([1, 2]);
  });

  it.each([
    ['nothing', {}, 400, 'request.invalid'],
    ['no signature', { digest: digestOf('x') }, 400, 'verify.incomplete'],
    ['a digest that is not that of the request', null, 400, 'verify.incomplete'],
    ['an unknown key', { digest: digestOf('x'), signature: 'AAAA', key: 'nobody' }, 422, 'signing-key.unknown'],
    ['a request of nobody', { requestId: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' }, 404, 'signing-request.missing'],
  ])('refuses %s', async (_, body, status, code) => {
    const { requestId } = await signed({ digest: digestOf(CONTENT), key: 'ec-p256' });
    expect(await verify(body ?? { requestId, digest: digestOf('y') })).toMatchObject({ status, body: { code } });
  });

  it.each(['raw', 'cms', 'authenticode', 'jws', 'sigstore-bundle'])(
    '%s: noise is no signature, and no error',
    async (format) => {
      for (const noise of [
        randomBytes(1),
        randomBytes(64),
        randomBytes(3000),
        Buffer.from('{}'),
        Buffer.from('a..b'),
      ]) {
        const digest = createHash('sha256').update(noise).digest('base64');
        const { status, body } = await verify({ digest, signature: noise.toString('base64'), format, key: 'rsa-2048' });
        expect({ status, valid: body.valid }).toEqual({ status: 200, valid: false });
      }
    },
  );
});
