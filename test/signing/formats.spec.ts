import { createPublicKey, createVerify } from 'node:crypto';
import { join } from 'node:path';
import { flattenedVerify, importSPKI } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { ask, Authority, type Verdict } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const TYPES = ['rsa-2048', 'rsa-3072', 'ec-p256', 'ec-p384', 'ec-p521'] as const;
const HASHES = ['sha256', 'sha384', 'sha512'];
const CONTENT = Buffer.from('A file that was released.\n'.repeat(500));

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;
const keys = new Map<string, PublishedKey>();

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  authority = new Authority();
  const certified = (type: string) => certifiedKey(service, apiKey, authority, { name: `of-${type}`, type });
  await Promise.all(TYPES.map(async (type) => keys.set(type, await certified(type))));
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const keyOf = (type: string): PublishedKey => {
  const key = keys.get(type);
  if (key === undefined) throw new Error(`no key of type ${type}`);
  return key;
};

async function signed(body: Record<string, unknown>): Promise<Answer['body']> {
  const answer = await sign(service, { key: apiKey, body });
  expect(answer).toMatchObject({ status: 200, body: { status: 'SIGNED', format: body['format'] } });
  return answer.body;
}

/** Returns the bytes with one bit of the last byte flipped. */
function flipped(bytes: Buffer, at = bytes.length - 1): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

describe('cms', () => {
  function verify(cms: Buffer, content: Buffer): Verdict {
    const file = authority.keep('content', content);
    const sig = authority.keep('content.p7s', cms);
    const purpose = ['-purpose', 'any', '-CAfile', authority.root, '-out', join(authority.directory, 'out')];
    return ask('openssl', ['cms', '-verify', '-binary', '-inform', 'DER', '-in', sig, '-content', file, ...purpose]);
  }

  const matrix = TYPES.flatMap((type) => HASHES.map((algorithm) => ({ type, algorithm, scheme: undefined })));
  const pss = HASHES.map((algorithm) => ({ type: 'rsa-2048' as const, algorithm, scheme: 'rsa-pss' }));

  it.each([...matrix, ...pss])(
    '$type $algorithm $scheme: openssl accepts it, with no trailing bytes',
    async ({ type, algorithm, scheme }) => {
      const digest = digestOf(CONTENT, algorithm);
      const body = await signed({ digest, algorithm, format: 'cms', key: `of-${type}`, scheme });
      const cms = Buffer.from(body.signature, 'base64');
      expect(verify(cms, CONTENT)).toMatchObject({ ok: true, text: expect.stringContaining('successful') });
      expect(verify(cms, flipped(CONTENT)).ok).toBe(false);
      // The last byte of the container is the last byte of the signature.
      expect(verify(flipped(cms), CONTENT).ok).toBe(false);
    },
  );

  it('signs the CAdES attributes, with the time of the request', async () => {
    const body = await signed({ digest: digestOf(CONTENT), format: 'cms', key: 'of-ec-p256' });
    const file = authority.keep('shown.p7s', Buffer.from(body.signature, 'base64'));
    const { text } = ask('openssl', ['cms', '-cmsout', '-print', '-inform', 'DER', '-in', file]);
    expect(text).toContain('id-smime-aa-signingCertificateV2');
    const [, day] = /UTCTIME:(\w+ +\d+)/.exec(text) ?? [];
    expect(text).toContain(`UTCTIME:${day}`);
    expect(new Date(`${day} ${new Date().getUTCFullYear()} UTC`).toDateString()).toBe(
      new Date(new Date().toISOString().slice(0, 10)).toDateString(),
    );
  });

  it('returns the same container in the background, created once', async () => {
    const answer = await sign(service, {
      key: apiKey,
      body: { digest: digestOf(CONTENT), format: 'cms', key: 'of-rsa-2048', async: true },
    });
    expect(answer.status).toBe(202);
    const { body } = await read(service, apiKey, answer.body.requestId);
    expect(body).toMatchObject({ status: 'SIGNED', format: 'cms' });
    expect(verify(Buffer.from(body.signature, 'base64'), CONTENT).ok).toBe(true);
    expect((await read(service, apiKey, answer.body.requestId)).body).toEqual(body);
  });

  it('records the bytes to be signed before calling the HSM, and signs their hash', async () => {
    const body = await signed({ digest: digestOf(CONTENT), format: 'cms', key: 'of-ec-p256' });
    const [row] = await stage.sql<{ digest: Buffer; toBeSigned: Buffer; signedDigest: string; accepted: string }>(
      `SELECT r.digest, e.to_be_signed AS "toBeSigned", encode(e.signed_digest, 'base64') AS "signedDigest", a.detail ->> 'signedDigest' AS accepted
       FROM signing_request r JOIN signing_envelope e ON e.request_id = r.id
       JOIN audit_entry a ON a.target_id = r.id::text AND a.action = 'signing.accepted' WHERE r.id = $1`,
      [body.requestId],
    );
    if (row === undefined) throw new Error('no row');
    expect(row.accepted).toBe(row.signedDigest);
    expect(digestOf(row.toBeSigned)).toBe(row.signedDigest);
    const sig = authority.keep('attributes.p7s', Buffer.from(body.signature, 'base64'));
    const { text } = ask('openssl', ['asn1parse', '-inform', 'DER', '-in', sig]);
    const last = text.trim().split('\n').at(-1) ?? '';
    const signature = Buffer.from(/HEX DUMP\]:(\w+)/.exec(last)?.[1] ?? '', 'hex');
    const { publicKey } = keyOf('ec-p256');
    expect(createVerify('sha256').update(row.toBeSigned).verify(createPublicKey(publicKey), signature)).toBe(true);
  });

  it('rejects a key without a certificate, and signs nothing', async () => {
    const key = await createKey(service, apiKey, { name: 'bare', type: 'ec-p256' });
    const body = { digest: digestOf(CONTENT), format: 'cms', key: key.name };
    assertProblem(await sign(service, { key: apiKey, body }), { status: 409, code: 'certificate.none' });
    expect(await stage.sql(`SELECT id FROM signing_request WHERE key_name = 'bare'`)).toEqual([]);
  });

  it('rejects a certificate that has expired since', async () => {
    const key = await certifiedKey(service, apiKey, authority, { name: 'lapsed', type: 'ec-p256' });
    await stage.sql(`UPDATE certificate SET not_after = now() - interval '1 second' WHERE key_id = $1`, [key.id]);
    const body = { digest: digestOf(CONTENT), format: 'cms', key: key.name };
    assertProblem(await sign(service, { key: apiKey, body }), { status: 409, code: 'certificate.expired' });
  });
});

describe('jws', () => {
  const matrix = [
    { type: 'rsa-2048', algorithm: 'sha256', scheme: undefined, alg: 'RS256' },
    { type: 'rsa-3072', algorithm: 'sha512', scheme: 'rsa-pss', alg: 'PS512' },
    { type: 'ec-p256', algorithm: 'sha256', scheme: undefined, alg: 'ES256' },
    { type: 'ec-p384', algorithm: 'sha384', scheme: undefined, alg: 'ES384' },
    { type: 'ec-p521', algorithm: 'sha512', scheme: undefined, alg: 'ES512' },
  ];

  it.each(matrix)('$alg: jose accepts it over this hash value only', async ({ type, algorithm, scheme, alg }) => {
    const digest = digestOf(CONTENT, algorithm);
    const { signature } = await signed({ digest, algorithm, format: 'jws', key: `of-${type}`, scheme });
    const [header = '', payload, sig = ''] = Buffer.from(signature, 'base64').toString().split('.');
    expect(payload).toBe('');
    const key = await importSPKI(keyOf(type).publicKey, alg);
    const verify = (hash: Buffer, by = sig) =>
      flattenedVerify({ protected: header, payload: new Uint8Array(hash), signature: by }, key, {
        algorithms: [alg],
      });
    const { protectedHeader } = await verify(Buffer.from(digest, 'base64'));
    expect(protectedHeader).toMatchObject({ alg, b64: false, crit: ['b64'], kid: `${keyOf(type).id}.1` });
    await expect(verify(flipped(Buffer.from(digest, 'base64')))).rejects.toThrow('signature verification failed');
    const other = flipped(Buffer.from(sig, 'base64url'), 7).toString('base64url');
    await expect(verify(Buffer.from(digest, 'base64'), other)).rejects.toThrow('signature verification failed');
  });

  it('requires the digest that belongs to the curve', async () => {
    const body = { digest: digestOf(CONTENT, 'sha512'), algorithm: 'sha512', format: 'jws', key: 'of-ec-p256' };
    assertProblem(await sign(service, { key: apiKey, body }), {
      status: 400,
      code: 'algorithm.wrong-format',
      pointer: '/algorithm',
    });
  });
});

describe('sigstore-bundle', () => {
  function verify(bundle: string, artifact: Buffer, key: PublishedKey): void {
    const publicKey = createPublicKey(key.publicKey);
    const trust = toTrustMaterial(
      { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
      () => ({ publicKey, validFor: () => true }),
    );
    const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
    verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(bundle)), artifact));
  }

  it.each(['rsa-2048', 'ec-p256'])('%s: @sigstore/verify accepts it for this artifact only', async (type) => {
    const { signature } = await signed({ digest: digestOf(CONTENT), format: 'sigstore-bundle', key: `of-${type}` });
    const bundle = Buffer.from(signature, 'base64').toString();
    verify(bundle, CONTENT, keyOf(type));
    expect(() => verify(bundle, flipped(CONTENT), keyOf(type))).toThrow(/verif|digest/);
    const forged = JSON.parse(bundle);
    forged.messageSignature.signature = flipped(Buffer.from(forged.messageSignature.signature, 'base64')).toString(
      'base64',
    );
    expect(() => verify(JSON.stringify(forged), CONTENT, keyOf(type))).toThrow(/verif|signature/);
  });
});

describe('a format that does not fit the key or digest is rejected before signing', () => {
  it.each([
    [
      'a scheme that the format cannot name',
      { format: 'jws', key: 'of-ec-p256', scheme: 'ecdsa-der' },
      'scheme.wrong-format',
      '/scheme',
    ],
    [
      'a digest that CMS verifiers do not know',
      { format: 'cms', algorithm: 'sha3-256' },
      'algorithm.wrong-format',
      '/algorithm',
    ],
    ['content beside a digest', { format: 'cms', content: 'MAA=' }, 'content.unexpected', '/content'],
    ['authenticode without content', { format: 'authenticode' }, 'content.missing', '/content'],
    ['content that is not base64', { format: 'authenticode', content: '***' }, 'content.unreadable', '/content'],
    [
      'content that is no extracted data',
      { format: 'authenticode', content: 'MAA=' },
      'content.unreadable',
      '/content',
    ],
    ['an unknown format', { format: 'pkcs7' }, 'request.invalid', '/format'],
  ])('%s', async (_, body, code, pointer) => {
    const answer = await sign(service, {
      key: apiKey,
      body: { digest: digestOf(CONTENT), key: 'of-rsa-2048', ...body },
    });
    assertProblem(answer, { status: 400, code, pointer });
  });
});
