import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { derElements, elementsInside, firstElement } from '../../src/formats/asn1/der-reader.js';
import { element, integer, octetString, oid, sequence, setOf, tagged } from '../../src/formats/asn1/der-writer.js';
import { SIGSTORE_BUNDLE } from '../../src/formats/encoding/dsse.js';
import { keyBody, openPgpFingerprintOf } from '../../src/formats/openpgp/key-packet.js';
import { issuerSubpacket, signaturePacket, subpacket, writeHashedPart } from '../../src/formats/openpgp/signature-packet.js'; // prettier-ignore
import { PGP_SUBPACKET } from '../../src/formats/openpgp/signatures.js';
import { namesKey } from '../../src/signing/formats/openpgp.format.js';
import * as cms from '../../src/signing/formats/signed-data.js';
import { timeOfToken } from '../../src/signing/timestamping/timestamp-check.js';
import { BadSignature, otherKeyIn, readAttestation, readDsse, readOpenPgp, readSigstoreBundle } from '../../src/signing/verification/signature-readers.js'; // prettier-ignore
import { readCms } from '../../src/signing/verification/signed-data-reader.js';
import { ImposterAuthority } from '../support/swapped-certificates.js';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ type: 'spki', format: 'der' });
const digest = createHash('sha256').update('a file').digest();
const file = { digest, algorithm: 'sha256', scheme: 'ecdsa-der' } as const;
const JUNK = octetString(Buffer.from('more'));
const TOKEN = sequence(oid('1.2.840.113549.1.7.2'), tagged(0, sequence()));

describe('a CMS signature', () => {
  const certificate = new ImposterAuthority('Example Issuing').certify({ subject: 'Release', publicKey: spki });
  const plain = (unsignedAttributes: Buffer[] = []) =>
    cms.signedData({
      version: 1,
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
      content: sequence(oid('1.2.840.113549.1.7.1')),
      certificates: [certificate.raw],
      signer: certificate.raw,
      attributes: cms.signedAttributes(cms.contentType('1.2.840.113549.1.7.1'), cms.messageDigest(digest)),
      signature: sequence(integer(1), integer(2)),
      unsignedAttributes,
    });
  const stamp = cms.attribute(cms.TIMESTAMP_TOKEN, TOKEN);
  const raws = (bytes: Buffer) => elementsInside(firstElement(bytes)).map(({ raw }) => raw);
  const [type = Buffer.alloc(0), explicit = Buffer.alloc(0)] = raws(plain([stamp]));
  const fields = raws(raws(explicit)[0] ?? Buffer.alloc(0));
  const [version = Buffer.alloc(0), digests = Buffer.alloc(0), , certificates = Buffer.alloc(0)] = fields;
  const signer = raws(raws(fields.at(-1) ?? Buffer.alloc(0))[0] ?? Buffer.alloc(0));
  const withFields = (...changed: Buffer[]) => sequence(type, tagged(0, sequence(...changed)));
  const withSigner = (...changed: Buffer[]) => withFields(...fields.slice(0, -1), setOf(sequence(...changed)));
  const claimOf = (signature: Buffer) => readCms({ ...file, signature });
  const content = (...more: Buffer[]) => sequence(oid('1.2.840.113549.1.7.1'), ...more);

  it('is read as this service writes it', () => {
    expect(claimOf(plain()).timestampToken).toBeUndefined();
    expect(claimOf(withSigner(...signer)).timestampToken?.equals(TOKEN)).toBe(true);
  });

  it.each([
    ['another tag for ContentInfo', element(0x31, firstElement(plain()).contents)],
    ['another version', withFields(integer(2), ...fields.slice(1))],
    ['a version with an unnecessary octet', withFields(element(0x02, Buffer.from([0, 1])), ...fields.slice(1))],
    ['another version of the signer', withSigner(integer(3), ...signer.slice(1))],
    ['parameters of the digest algorithm', withSigner(...signer.slice(0, 2), sequence(oid('2.16.840.1.101.3.4.2.1'), JUNK), ...signer.slice(3))], // prettier-ignore
    ['an unsigned attribute other than the timestamp', plain([stamp, cms.attribute('1.2.840.113549.1.9.6', JUNK)])],
    ['an unsigned attribute instead of the timestamp', plain([cms.attribute('1.2.840.113549.1.9.6', JUNK)])],
    ['an unsigned attribute with another tag', plain([element(0x31, firstElement(stamp).contents)])],
    ['behind the content of ContentInfo', sequence(type, explicit, JUNK)],
    ['beside SignedData', sequence(type, tagged(0, sequence(...fields), JUNK))],
    ['behind the signers', withFields(...fields, JUNK)],
    ['an empty content', withFields(version, digests, content(tagged(0)), ...fields.slice(3))],
    ['behind the content', withFields(version, digests, content(tagged(0, JUNK), JUNK), ...fields.slice(3))],
    ['other digest algorithms', withFields(version, setOf(sequence(oid('1.2.840.113549.2.5'))), ...fields.slice(2))],
    ['revocation lists', withFields(...fields.slice(0, 4), tagged(1, JUNK), ...fields.slice(4))],
    ['certificates twice', withFields(...fields.slice(0, 4), certificates, ...fields.slice(4))],
    ['behind the signer', withSigner(...signer, JUNK)],
    ['another tag for the signature', withSigner(...signer.slice(0, 5), element(0x0c, Buffer.alloc(8)), ...signer.slice(6))], // prettier-ignore
    ['another tag for the unsigned attributes', withSigner(...signer.slice(0, 6), tagged(2, JUNK))],
    ['two timestamps', plain([stamp, cms.attribute(cms.TIMESTAMP_TOKEN, JUNK)])],
    ['a timestamp attribute with two values', plain([sequence(oid(cms.TIMESTAMP_TOKEN), setOf(TOKEN, JUNK))])],
    ['a timestamp attribute without a value', plain([sequence(oid(cms.TIMESTAMP_TOKEN), setOf())])],
  ])('is refused with elements that nobody signed: %s', (_, changed) => {
    expect(() => claimOf(changed)).toThrow(BadSignature);
  });
});

it('a CMS signature with changed bytes is never accepted if OpenSSL rejects it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-cms-'));
  const [path, content] = [join(directory, 'signature'), join(directory, 'content')];
  writeFileSync(content, 'a file');
  const isAcceptedByOpenSsl = (signature: Buffer) => {
    writeFileSync(path, signature);
    const args = ['cms', '-verify', '-binary', '-inform', 'DER', '-in', path, '-content', content, '-noverify'];
    return spawnSync('openssl', [...args, '-out', '/dev/null']).status === 0;
  };
  const certificate = new ImposterAuthority('Example Issuing').certify({ subject: 'Release', publicKey: spki });
  const attributes = cms.signedAttributes(cms.contentType('1.2.840.113549.1.7.1'), cms.messageDigest(digest));
  const whole = cms.signedData({
    version: 1,
    algorithm: 'sha256',
    scheme: 'ecdsa-der',
    content: sequence(oid('1.2.840.113549.1.7.1')),
    certificates: [certificate.raw],
    signer: certificate.raw,
    attributes,
    signature: sign('sha256', attributes, privateKey),
    unsignedAttributes: [cms.attribute(cms.TIMESTAMP_TOKEN, TOKEN)],
  });
  const original = readCms({ ...file, signature: whole });
  const isAccepted = (signature: Buffer) => {
    try {
      const claim = readCms({ ...file, signature });
      return claim.signedDigest.equals(original.signedDigest) && claim.signature.equals(original.signature);
    } catch {
      return false;
    }
  };
  // The certificate and the timestamp token are each verified as a whole.
  const apart = [certificate.raw, TOKEN].map((bytes) => [whole.indexOf(bytes), bytes.length] as const);
  const places = Array.from(whole.keys()).filter((at) => apart.every(([from, size]) => at < from || at >= from + size));
  const changed = places.flatMap((at) =>
    [0x00, 0x01, 0x02, 0x04, 0x05, 0x30, 0x31, 0x7f, 0x80, 0x81, 0xa0, 0xff].flatMap((octet) => {
      const copy = Buffer.from(whole);
      copy[at] = octet;
      return copy.equals(whole) ? [] : [copy];
    }),
  );
  expect([isAccepted(whole), isAcceptedByOpenSsl(whole)]).toEqual([true, true]);
  const accepted = changed.filter(isAccepted);
  expect(accepted.filter((one) => !isAcceptedByOpenSsl(one)).map((one) => one.toString('base64'))).toEqual([]);
  rmSync(directory, { recursive: true });
});

describe('a timestamp token', () => {
  const expected = { digest, algorithm: 'sha256', roots: [] } as const;
  const timeOf = (token: Buffer) => () => timeOfToken(token, expected);
  const [type, explicit] = derElements(firstElement(TOKEN).contents);
  const raw = (one = firstElement(TOKEN)) => one.raw;

  it.each([
    ['bytes behind it', Buffer.concat([TOKEN, Buffer.from('more')])],
    ['another token behind it', Buffer.concat([TOKEN, TOKEN])],
    ['an element in ContentInfo', sequence(raw(type), raw(explicit), JUNK)],
    ['an element behind the signers', sequence(raw(type), tagged(0, sequence(integer(3), setOf(), sequence(), setOf(), JUNK)))], // prettier-ignore
  ])('is refused with %s', (_, token) => {
    expect(timeOf(token)).toThrow(/elements that TimeStampToken does not allow|not a single DER element/);
  });
});

it('a timestamp token with many signed attributes is refused before they are hashed', () => {
  const certificate = new ImposterAuthority('Example TSA').certify({ subject: 'TSA', publicKey: spki });
  const TST_INFO = '1.2.840.113549.1.9.16.1.4';
  const token = (count: number) =>
    cms.signedData({
      version: 3,
      algorithm: 'sha256',
      scheme: 'ecdsa-der',
      content: sequence(oid(TST_INFO), tagged(0, JUNK)),
      certificates: [certificate.raw],
      signer: certificate.raw,
      attributes: cms.signedAttributes(...Array.from({ length: count }, () => cms.contentType(TST_INFO))),
      signature: sequence(integer(1), integer(2)),
    });
  const read = (count: number) => () => timeOfToken(token(count), { digest, algorithm: 'sha256', roots: [] });
  expect(read(33)).toThrow('the token has more than 32 signed attributes');
  expect(read(32)).toThrow('no certificate in the token verifies its signature');
});

describe('a Sigstore bundle', () => {
  const response = sequence(sequence(integer(0)), TOKEN);
  const stampOf = (bytes: Buffer) => ({ signedTimestamp: bytes.toString('base64') });
  const bundle = (stamps: unknown, more: object = {}) => ({
    mediaType: SIGSTORE_BUNDLE,
    verificationMaterial: { timestampVerificationData: { rfc3161Timestamps: stamps } },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: digest.toString('base64') },
      signature: 'AAAA',
    },
    ...more,
  });
  const claimOf = (json: object) => readSigstoreBundle({ ...file, signature: Buffer.from(JSON.stringify(json)) });

  it('is read with one timestamp, or none', () => {
    expect(claimOf(bundle([])).timestampToken).toBeUndefined();
    expect(claimOf(bundle([stampOf(response)])).timestampToken?.equals(TOKEN)).toBe(true);
  });

  it.each([
    ['a second timestamp', bundle([stampOf(response), stampOf(response)])],
    ['a timestamp that cannot be read', bundle([stampOf(sequence())])],
    ['a rejected timestamp', bundle([stampOf(sequence(sequence(integer(2)), TOKEN))])],
    ['timestamps in an object', bundle({ 0: stampOf(response) })],
    ['a second content', bundle([], { dsseEnvelope: { payload: 'ZXZpbA==' } })],
    ['another media type', bundle([], { mediaType: 'application/json' })],
  ])('is refused with %s', (_, changed) => {
    expect(() => claimOf(changed)).toThrow(BadSignature);
  });
});

describe('an OpenPGP signature', () => {
  const key = { publicKey: spki, madeAt: new Date('2026-01-01T00:00:00Z') };
  const fingerprint = openPgpFingerprintOf(keyBody(key));
  const partOf = ({ type = 0, algorithm = 19, at = 1_800_000_000, issuer = fingerprint } = {}) =>
    writeHashedPart({
      type,
      algorithm,
      hash: 'sha256',
      subpackets: [issuerSubpacket(issuer), subpacket(PGP_SUBPACKET.created, at)],
    });
  const packet = (part: Buffer) => signaturePacket(part, { digest, signature: Buffer.alloc(64, 1) });
  const claimOf = (part: Buffer, hashedPart?: Buffer) => readOpenPgp({ ...file, signature: packet(part), hashedPart });
  const isByKey = (part: Buffer) => {
    const { hashedPart } = claimOf(part);
    return hashedPart !== undefined && namesKey(hashedPart, key);
  };

  it('is compared with the hashed part that was signed', () => {
    expect(claimOf(partOf(), partOf()).scheme).toBe('ecdsa-der');
    for (const changed of [{ type: 0x13 }, { at: 1_000_000_000 }, { issuer: Buffer.alloc(20) }])
      expect(() => claimOf(partOf(changed), partOf())).toThrow('differs from the one that was signed');
  });

  it('without a request, must be of a document and name the key', () => {
    expect(isByKey(partOf())).toBe(true);
    expect(isByKey(partOf({ issuer: Buffer.alloc(20, 0xaa) }))).toBe(false);
    expect(isByKey(partOf({ algorithm: 17 }))).toBe(false);
    for (const type of [0x13, 0x20]) expect(() => claimOf(partOf({ type }))).toThrow('not a signature over a document');
  });
});

describe('the key hint', () => {
  const OWN_NAME = '0194f0c1-0000-7000-8000-000000000001.1';
  const hash = createHash('sha256').update(spki).digest();
  const other = createHash('sha256').update('another key').digest('base64');
  const read = (reader: typeof readDsse, message: object) =>
    otherKeyIn(reader({ ...file, signature: Buffer.from(JSON.stringify(message)) }), OWN_NAME, spki);
  const bundle = (hint: unknown, content: object) =>
    ({ mediaType: SIGSTORE_BUNDLE, verificationMaterial: { publicKey: { hint } }, ...content }); // prettier-ignore
  const messageSignature = {
    messageDigest: { algorithm: 'SHA2_256', digest: digest.toString('base64') },
    signature: 'AAAA',
  };
  const dsseEnvelope = (keyid: unknown) =>
    ({ payloadType: 't', payload: Buffer.from('a file').toString('base64'), signatures: [{ sig: 'AAAA', keyid }] }); // prettier-ignore

  it.each([undefined, '', hash.toString('base64'), hash.toString('hex')])('of this key, or none: %s', (hint) => {
    expect(read(readSigstoreBundle, bundle(hint, { messageSignature }))).toBeUndefined();
    expect(read(readAttestation, bundle(hint, { dsseEnvelope: dsseEnvelope(hint) }))).toBeUndefined();
    expect(read(readDsse, { sig: 'AAAA', keyid: hint })).toBeUndefined();
  });

  it.each([other, `${OWN_NAME.slice(0, -1)}2`])('of another key: %s', (hint) => {
    expect(read(readSigstoreBundle, bundle(hint, { messageSignature }))).toBe(hint);
    expect(read(readAttestation, bundle(hint, { dsseEnvelope: dsseEnvelope('') }))).toBe(hint);
    expect(read(readAttestation, bundle('', { dsseEnvelope: dsseEnvelope(hint) }))).toBe(hint);
    expect(read(readDsse, { sig: 'AAAA', keyid: hint })).toBe(hint);
  });

  it('in a DSSE signature may be an ID that another tool computed, but must be text', () => {
    expect(read(readDsse, { sig: 'AAAA', keyid: OWN_NAME })).toBeUndefined();
    expect(read(readDsse, { sig: 'AAAA', keyid: 'SHA256:computed' })).toBeUndefined();
    expect(() => read(readDsse, { sig: 'AAAA', keyid: 5 })).toThrow(BadSignature);
  });
});
