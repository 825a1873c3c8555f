import { createHash, createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealwright } from '../client/program.js';
import { preAuthEncoding, SIGSTORE_BUNDLE } from '../../src/formats/encoding/dsse.js';
import { certifiedKey } from '../support/certified-keys.js';
import { type CertifiedStage, extractedData, makeProgram, openCertifiedStage } from '../support/certified-stage.js';
import { has } from '../support/peers.js';
import type { Answer } from '../support/service.js';
import { digestOf, type PublishedKey, sign } from '../support/signing.js';
import {
  certificatesIn,
  FOR_TIMESTAMPS,
  ImposterAuthority,
  thumbprintOf,
  withCertificates,
} from '../support/swapped-certificates.js';

const TYPES = ['rsa-2048', 'ec-p256', 'ec-p384', 'ec-p521'];
const CONTENT = Buffer.from('a file that was released');

let certified: CertifiedStage;
let service: CertifiedStage['service'];

beforeAll(async () => {
  certified = await openCertifiedStage(TYPES, { shim: true });
  const { apiKey, authority } = certified;
  await certifiedKey(certified.service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
  // This service has no HSM, because verification needs only public data.
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

describe('POST /api/v1/verify in a process without an HSM', () => {
  it.each(CASES)('$format by $key $algorithm $scheme: is valid for this file only', async (one) => {
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

  it('detects every flipped byte of a raw signature', async () => {
    const digest = digestOf(CONTENT);
    const { signature } = await signed({ digest, key: 'ec-p256' });
    const size = Buffer.from(signature, 'base64').length;
    const answers = await Promise.all(
      Array.from({ length: size }, (_, at) => verify({ digest, signature: flipped(signature, at), key: 'ec-p256' })),
    );
    expect(answers.map(({ body }) => body.valid)).toEqual(answers.map(() => false));
  });

  it.each(['raw', 'cms', 'sigstore-bundle'])(
    '%s with a timestamp: returns the time, and detects an invalid timestamp',
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

  it.skipIf(!has('osslsigncode'))('authenticode: is valid for the hash of the program only', async () => {
    makeProgram('exe', certified.at('p.exe'), 'a program');
    const content = extractedData(certified.at('p.exe'), 'sha256');
    const { signature, digest } = await signed({ format: 'authenticode', content, key: 'rsa-2048' });
    const asked = { format: 'authenticode', digest, signature, key: 'rsa-2048' };
    expect((await verify(asked)).body).toMatchObject({ valid: true });
    expect((await verify({ ...asked, digest: digestOf('x') })).body.valid).toBe(false);
    expect((await verify({ ...asked, signature: flipped(signature) })).body.valid).toBe(false);
  });

  it('finds the signing key among all that signed the file, and names none for an invalid signature', async () => {
    const digest = digestOf('a file that two keys signed');
    const keys = ['ec-p384', 'rsa-2048'];
    const signatures: string[] = [];
    for (const key of keys) signatures.push((await signed({ digest, key })).signature);
    const answers = await Promise.all(signatures.map((signature) => verify({ digest, signature })));
    expect(answers.map(({ body }) => [body.valid, body.key.name])).toEqual(keys.map((key) => [true, key]));
    const { body } = await verify({ digest, signature: flipped(signatures[0] ?? '') });
    expect(body).toMatchObject({ valid: false, checks: [{ check: 'signature', ok: false }] });
    // The response must be the same as for a digest that was never signed.
    const unsigned = await verify({ digest: digestOf('unsigned'), signature: flipped(signatures[0] ?? '') });
    expect(body).toEqual(unsigned.body);
  });

  it('finds the requests for a file by its digest', async () => {
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

  it('returns the signing version after a rotation', async () => {
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
    ['another digest than that of the request', { requestId: 'OWN', digest: digestOf('y') }, 400, 'verify.incomplete'],
    ['another key than that of the request', { requestId: 'OWN', key: 'ec-p384' }, 400, 'verify.incomplete'],
    ['another version than that of the request', { requestId: 'OWN', version: 2 }, 400, 'verify.incomplete'],
    ['an unknown key', { digest: digestOf('x'), signature: 'AAAA', key: 'nobody' }, 422, 'signing-key.unknown'],
    ['a request of nobody', { requestId: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' }, 404, 'signing-request.missing'],
  ])('rejects %s', async (_, body, status, code) => {
    const { requestId } = await signed({ digest: digestOf(CONTENT), key: 'ec-p256' });
    const asked = JSON.parse(JSON.stringify(body).replace('"OWN"', `"${requestId}"`)) as object;
    expect(await verify(asked)).toMatchObject({ status, body: { code } });
  });

  it.each(['raw', 'cms', 'authenticode', 'jws', 'sigstore-bundle'])(
    '%s: reports random data as invalid, without an error',
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

describe('a signature with swapped certificates', () => {
  const imposter = new ImposterAuthority('DigiCert Trusted Root G4');
  const STATEMENT = Buffer.from('{"_type":"https://in-toto.io/Statement/v1"}');
  const NOT_ONBOARDED = /was not imported for version 1 of the key\. Obtain the file from its signer again/;
  const OTHER_NAMED = /the signature names a certificate other than/;
  let spki: Buffer;
  let imposed: X509Certificate;
  /** Another onboarded certificate, which the same authority issued for the same key. */
  let renewed: X509Certificate;

  const post = async (path: string, body: unknown) => {
    const answer = await certified.service.call('POST', `/api/v1/signing-keys${path}`, { key: certified.apiKey, body });
    expect(answer.body.code).toBeUndefined();
    return answer.body;
  };
  const keyNamed = async (name: string): Promise<PublishedKey> => {
    const { body } = await service.call('GET', '/api/v1/signing-keys', { key: certified.apiKey });
    return body.items.find((one: PublishedKey) => one.name === name);
  };
  const spkiOf = ({ publicKey }: PublishedKey) => createPublicKey(publicKey).export({ type: 'spki', format: 'der' });

  beforeAll(async () => {
    const key = await certifiedKey(certified.service, certified.apiKey, certified.authority, {
      name: 'swapped',
      type: 'ec-p256',
    });
    spki = spkiOf(key);
    imposed = imposter.certify({ subject: 'Microsoft Corporation', publicKey: spki });
    const { signature } = await signed({ digest: digestOf(CONTENT), key: 'swapped', format: 'cms' });
    const { csr } = await post(`/${key.id}/csr`, { subject: { commonName: 'swapped', organization: 'Renewed' } });
    await post(`/${key.id}/certificate`, { chain: certified.authority.issue(csr).chain });
    const fresh = await signed({ digest: digestOf(CONTENT), key: 'swapped', format: 'cms' });
    const leaf = certificatesIn(Buffer.from(fresh.signature, 'base64'))[0];
    if (leaf === undefined) throw new Error('a CMS carries the certificate of its key');
    renewed = leaf;
    expect((await verify({ digest: digestOf(CONTENT), signature, key: 'swapped', format: 'cms' })).body.valid).toBe(
      true,
    );
  });

  /** Returns the detail of the failed check. Asserts that no other check fails and that the imposter's name does not appear anywhere else. */
  async function refusal(body: Record<string, unknown>, check = 'certificate'): Promise<string> {
    const { status, body: answer } = await verify(body);
    expect({ status, valid: answer.valid }).toEqual({ status: 200, valid: false });
    expect(answer.subject ?? '').not.toContain('Microsoft');
    const bad = answer.checks.filter(({ ok }: { ok: boolean }) => !ok);
    expect(bad).toMatchObject([{ check }]);
    return bad[0].detail;
  }

  async function signedCms(
    extra: object = {},
  ): Promise<{ digest: string; der: Buffer; certificates: X509Certificate[] }> {
    const digest = digestOf(CONTENT);
    const { signature } = await signed({ digest, key: 'swapped', format: 'cms', ...extra });
    const der = Buffer.from(signature, 'base64');
    return { digest, der, certificates: certificatesIn(der) };
  }

  const asCms = (digest: string, der: Buffer) => ({
    digest,
    signature: der.toString('base64'),
    key: 'swapped',
    format: 'cms',
  });

  it('cms: is not attributed to the swapped certificates, by the API or by the client', async () => {
    const { digest, der } = await signedCms();
    const forged = withCertificates(der, [imposed, imposter.certificate]);
    expect(await refusal(asCms(digest, forged))).toMatch(NOT_ONBOARDED);
    writeFileSync(certified.at('swapped.bin'), CONTENT);
    writeFileSync(certified.at('swapped.p7s'), forged);
    const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: certified.apiKey };
    const args = ['verify', certified.at('swapped.bin'), '--signature', certified.at('swapped.p7s'), '--format', 'cms'];
    const { code, out } = await sealwright(args, { env });
    expect({ code, out }).toMatchObject({ code: 1, out: expect.stringMatching(/BAD certificate: .*\nNOT VALID\n$/s) });
  });

  it('cms: is rejected with an issuer that was not onboarded, although its own certificate was', async () => {
    const { digest, der, certificates } = await signedCms();
    const [leaf, issuer] = certificates;
    if (leaf === undefined || issuer === undefined) throw new Error('two certificates come along');
    expect(await refusal(asCms(digest, withCertificates(der, [leaf, imposter.certificate])))).toMatch(NOT_ONBOARDED);
    expect(await refusal(asCms(digest, withCertificates(der, [leaf, issuer, imposter.certificate])))).toMatch(
      NOT_ONBOARDED,
    );
    expect((await verify(asCms(digest, withCertificates(der, [leaf])))).body).toMatchObject({ valid: true });
  });

  it('cms: is rejected with another onboarded certificate of its key, because its signed attribute names the first', async () => {
    const { digest, der, certificates } = await signedCms();
    const { body } = await verify(asCms(digest, der));
    expect(body).toMatchObject({ valid: true, subject: expect.stringContaining('Renewed') });
    const versions = await certified.stage.sql<{ chain: Buffer[] }>(
      `SELECT chain FROM certificate WHERE key_id = (SELECT id FROM signing_key WHERE name = 'swapped') ORDER BY id LIMIT 1`,
    );
    const first = new X509Certificate(versions[0]?.chain[0] ?? Buffer.alloc(0));
    expect(first.raw.equals(renewed.raw)).toBe(false);
    expect(await refusal(asCms(digest, withCertificates(der, [first, ...certificates.slice(1)])))).toMatch(OTHER_NAMED);
  });

  it.skipIf(!has('osslsigncode'))('authenticode: is not attributed to the swapped certificates', async () => {
    makeProgram('exe', certified.at('s.exe'), 'a program');
    const content = extractedData(certified.at('s.exe'), 'sha256');
    const { signature, digest } = await signed({ format: 'authenticode', content, key: 'swapped' });
    const forged = withCertificates(Buffer.from(signature, 'base64'), [imposed, imposter.certificate]);
    const asked = { format: 'authenticode', digest, key: 'swapped' };
    expect((await verify({ ...asked, signature })).body.valid).toBe(true);
    expect(await refusal({ ...asked, signature: forged.toString('base64') })).toMatch(NOT_ONBOARDED);
  });

  /** Builds a JWS with an arbitrary header from a raw signature, as a caller with permission to sign can. */
  async function assembledJws(header: object): Promise<Record<string, unknown>> {
    const digest = digestOf(CONTENT);
    const protectedHeader = { alg: 'ES256', ...header, b64: false, crit: ['b64'] };
    const encoded = Buffer.from(JSON.stringify(protectedHeader)).toString('base64url');
    const input = Buffer.concat([Buffer.from(`${encoded}.`), Buffer.from(digest, 'base64')]);
    const made = await signed({ digest: digestOf(input), key: 'swapped', scheme: 'ecdsa-raw' });
    const value = Buffer.from(made.signature, 'base64').toString('base64url');
    return { digest, signature: Buffer.from(`${encoded}..${value}`).toString('base64'), key: 'swapped', format: 'jws' };
  }

  it('jws: uses x5c and thumbprints only for an onboarded certificate, and never keys in the header', async () => {
    const of = ({ raw }: X509Certificate) => raw.toString('base64');
    const { valid } = (await verify(await assembledJws({ x5c: [of(renewed)], 'x5t#S256': thumbprintOf(renewed) })))
      .body;
    expect(valid).toBe(true);
    expect(await refusal(await assembledJws({ x5c: [of(imposed), of(imposter.certificate)] }))).toMatch(NOT_ONBOARDED);
    expect(await refusal(await assembledJws({ 'x5t#S256': thumbprintOf(imposed) }))).toMatch(OTHER_NAMED);
    const sha1 = createHash('sha1').update(imposed.raw).digest('base64url');
    expect(await refusal(await assembledJws({ x5t: sha1 }))).toMatch(OTHER_NAMED);
    expect(await refusal(await assembledJws({ x5c: [of(renewed)], 'x5t#S256': thumbprintOf(imposed) }))).toMatch(
      OTHER_NAMED,
    );
    for (const name of ['jwk', 'jku', 'x5u'])
      expect(await refusal(await assembledJws({ [name]: 'https://imposter.example' }), 'signature')).toContain(name);
  });

  it.each(['sigstore-bundle', 'attestation'])('%s: is not attributed to the swapped certificate', async (format) => {
    const isBundle = format === 'sigstore-bundle';
    const type = 'application/vnd.in-toto+json';
    const digest = isBundle ? digestOf(CONTENT) : digestOf(STATEMENT);
    const made = isBundle
      ? await signed({ digest, key: 'swapped', format })
      : await signed({ digest: digestOf(preAuthEncoding(type, STATEMENT)), key: 'swapped', format: 'dsse' });
    const text = JSON.parse(Buffer.from(made.signature, 'base64').toString()) as Record<string, unknown>;
    const envelope = { payloadType: type, payload: STATEMENT.toString('base64'), signatures: [text] };
    const bundle = isBundle ? text : { mediaType: SIGSTORE_BUNDLE, dsseEnvelope: envelope };
    const withMaterial = (verificationMaterial: object) => ({
      digest,
      format,
      key: 'swapped',
      signature: Buffer.from(JSON.stringify({ ...bundle, verificationMaterial })).toString('base64'),
    });
    const rawBytes = ({ raw }: X509Certificate) => ({ rawBytes: raw.toString('base64') });
    expect((await verify(withMaterial({ certificate: rawBytes(renewed) }))).body.valid).toBe(true);
    expect(await refusal(withMaterial({ publicKey: { hint: 'of another' } }), 'signature')).toContain('of another');
    expect(await refusal(withMaterial({ certificate: rawBytes(imposed) }))).toMatch(NOT_ONBOARDED);
    const chain = { x509CertificateChain: { certificates: [imposed, imposter.certificate].map(rawBytes) } };
    expect(await refusal(withMaterial(chain))).toMatch(NOT_ONBOARDED);
  });

  it('timestamp token: requires the TSA certificate that the token names, with a known root', async () => {
    const { digest, requestId, timestamp } = await signed({
      digest: digestOf(CONTENT),
      key: 'swapped',
      timestamp: true,
    });
    const der = Buffer.from(timestamp, 'base64');
    const [own, ...others] = certificatesIn(der);
    if (own === undefined) throw new Error('a token carries the certificate of its authority');
    const tsa = await keyNamed('tsa');
    const foreign = imposter.certify({ subject: 'Imposter TSA', publicKey: spkiOf(tsa), extensions: [FOR_TIMESTAMPS] });
    const { csr } = await post(`/${tsa.id}/csr`, { subject: { commonName: 'tsa', organization: 'Reissued' } });
    const EKU = 'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature\n';
    const { chain } = certified.authority.issue(csr, { extensions: EKU });
    const reissued = new X509Certificate(chain);
    for (const swapped of [
      [foreign, imposter.certificate],
      [reissued, ...others],
      [reissued, own, ...others],
    ]) {
      const token = withCertificates(der, swapped).toString('base64');
      expect(await refusal({ requestId, timestamp: token }, 'timestamp')).toMatch(/names a different certificate/);
    }
    expect(
      (await verify({ requestId, timestamp: withCertificates(der, [own, ...others]).toString('base64') })).body.valid,
    ).toBe(true);
    expect(digest).toBe(digestOf(CONTENT));
  });
});
