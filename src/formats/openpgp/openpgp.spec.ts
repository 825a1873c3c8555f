import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { armored, dearmored } from './armor.js';
import { certificate, certificationOf, revocationOf } from './certificate.js';
import { canonicalCleartext, cleartextMessage, TextLines } from './cleartext.js';
import { openPgpFingerprintOf, keyBody, mpi } from './key-packet.js';
import { PGP_TAG, pgpPackets } from './packets.js';
import {
  issuerFingerprintOf,
  issuerSubpacket,
  PGP_SIGNATURE,
  readHashedPart,
  readSignaturePacket,
  signaturePacket,
  subpacket,
  writeHashedPart,
} from './signature-packet.js';
import { PGP_SUBPACKET, subpacketsIn } from './signatures.js';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const spki = (key: typeof ec.publicKey) => key.export({ type: 'spki', format: 'der' });
const MADE_AT = new Date('2027-01-01T00:00:00.900Z');
const KEY = { publicKey: spki(ec.publicKey), madeAt: MADE_AT };

describe('a key packet', () => {
  it('contains the creation time in seconds, and has a stable fingerprint', () => {
    const body = keyBody(KEY);
    expect(body.readUInt32BE(1)).toBe(Date.parse('2027-01-01T00:00:00Z') / 1000);
    expect(openPgpFingerprintOf(body)).toEqual(
      openPgpFingerprintOf(keyBody({ ...KEY, madeAt: new Date('2027-01-01T00:00:00Z') })),
    );
    expect(openPgpFingerprintOf(body)).toHaveLength(20);
  });

  it('contains the integers of an RSA key', () => {
    const { n = '' } = createPublicKey(rsa.publicKey.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' });
    const modulus = Buffer.from(n, 'base64url');
    expect(keyBody({ publicKey: spki(rsa.publicKey), madeAt: MADE_AT }).includes(mpi(modulus))).toBe(true);
  });

  it('cannot be written for keys that version 4 does not support', () => {
    const other = generateKeyPairSync('ed25519');
    expect(() => keyBody({ publicKey: spki(other.publicKey), madeAt: MADE_AT })).toThrow(RangeError);
  });

  it.each([
    ['', '0000'],
    ['00', '0000'],
    ['01', '000101'],
    ['0001ff', '000901ff'],
    ['80', '000880'],
  ])('the number %s is encoded as %s: no leading zero bits (RFC 9580 section 3.2)', (number, written) => {
    expect(mpi(Buffer.from(number, 'hex')).toString('hex')).toBe(written);
  });
});

const PART = writeHashedPart({
  type: PGP_SIGNATURE.binary,
  algorithm: 19,
  hash: 'sha256',
  subpackets: [issuerSubpacket(openPgpFingerprintOf(keyBody(KEY))), subpacket(PGP_SUBPACKET.created, 1_800_000_000)],
});

describe('the hashed part of a signature', () => {
  it('is read as written, and names its key', () => {
    const part = readHashedPart(PART);
    expect(part).toMatchObject({ type: 0, algorithm: 19, hash: 'sha256' });
    expect(issuerFingerprintOf(part)).toEqual(openPgpFingerprintOf(keyBody(KEY)));
  });

  it('is rejected when its length is wrong or its version differs', () => {
    for (let length = 0; length < PART.length; length += 1)
      expect(() => readHashedPart(PART.subarray(0, length))).toThrow(RangeError);
    expect(() => readHashedPart(Buffer.concat([PART, Buffer.alloc(1)]))).toThrow(RangeError);
    expect(() => readHashedPart(Buffer.concat([Buffer.from([6]), PART.subarray(1)]))).toThrow(RangeError);
  });

  // RFC 9580 section 5.2.3.7: a subpacket has no partial length, so octets 224 to 254 begin a length of two octets.
  it.each([191, 192, 8383, 8384, 16_319])(
    'may contain a subpacket of %i octets in any valid length encoding',
    (length) => {
      const [high, low] = [((length - 192) >> 8) + 192, (length - 192) & 0xff];
      const content = Buffer.alloc(length - 1, 7);
      const area = Buffer.concat([Buffer.from(length < 192 ? [length, 20] : [high, low, 20]), content]);
      expect(subpacketsIn(area)).toEqual([{ type: 20, critical: false, value: content }]);
      expect(() => subpacketsIn(area.subarray(0, -1))).toThrow(RangeError);
    },
  );

  it('names no key if it has two issuers', () => {
    const issuer = issuerSubpacket(openPgpFingerprintOf(keyBody(KEY)));
    expect(
      issuerFingerprintOf({ type: 0, algorithm: 19, hash: 'sha256', subpackets: [issuer, issuer] }),
    ).toBeUndefined();
  });
});

describe('a signature packet', () => {
  const digest = createHash('sha256').update('document').digest();

  it('contains r and s, and the first octets of the digest', () => {
    const signature = sign(undefined, digest, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
    const read = readSignaturePacket(signaturePacket(PART, { digest, signature }));
    expect(read.hashedPart).toEqual(PART);
    expect(read.left).toEqual(digest.subarray(0, 2));
    const padded = read.numbers.map((number) => Buffer.concat([Buffer.alloc(32 - number.length), number]));
    const key = { key: ec.publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(verify(undefined, digest, key, Buffer.concat(padded))).toBe(true);
  });

  it('is rejected when truncated anywhere', () => {
    const packet = signaturePacket(PART, { digest, signature: Buffer.alloc(64, 0xff) });
    for (let length = 0; length < packet.length; length += 1)
      expect(() => readSignaturePacket(packet.subarray(0, length))).toThrow(RangeError);
  });
});

describe('an OpenPGP certificate', () => {
  it('contains the key, its revocation, then each user ID with its binding signature', () => {
    const at = new Date('2027-06-01T00:00:00Z');
    const { hashedPart, digest } = certificationOf(KEY, {
      userId: 'Anna <a@b.example>',
      at,
      primary: true,
      hash: 'sha256',
    });
    const bound = signaturePacket(hashedPart, { digest, signature: Buffer.alloc(64, 1) });
    const said = revocationOf(KEY, { at, reason: 'retired', text: 'It had its time.', hash: 'sha256' });
    const revoked = signaturePacket(said.hashedPart, { digest: said.digest, signature: Buffer.alloc(64, 1) });
    const bytes = certificate(KEY, [revoked], [{ userId: 'Anna <a@b.example>', certifications: [bound] }]);
    const { publicKey, signature, userId } = PGP_TAG;
    expect([...pgpPackets(bytes)].map(({ tag }) => tag)).toEqual([publicKey, signature, userId, signature]);
    expect(dearmored(armored('PUBLIC KEY BLOCK', bytes).trimEnd())).toEqual(bytes);
  });
});

describe('signed text', () => {
  it.each([
    ['a\nb\n', 'a\r\nb'],
    ['a\nb', 'a\r\nb'],
    ['a \t\r\n\nb\n\n', 'a\r\n\r\nb\r\n'],
    ['', ''],
  ])('%j is hashed in clear-signed form as %j', (text, hashed) => {
    expect(canonicalCleartext(Buffer.from(text)).toString()).toBe(hashed);
  });

  it('escapes lines that start with a dash, and keeps every octet', () => {
    const text = Buffer.from([...Buffer.from('-----BEGIN x\n'), 0xff, 0x0a]);
    const message = cleartextMessage(text, 'sha256').toString('latin1');
    expect(message).toBe('-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n- -----BEGIN x\n\u00ff\n');
  });

  it('normalizes line endings the same way, wherever it is split', () => {
    const text = Buffer.from('a\r\r\nb\n\rc\r\n\nd');
    const whole = new TextLines().next(text).toString();
    expect(whole).toBe('a\r\nb\r\n\rc\r\n\r\nd');
    for (let cut = 0; cut <= text.length; cut += 1) {
      const lines = new TextLines();
      expect(Buffer.concat([lines.next(text.subarray(0, cut)), lines.next(text.subarray(cut))]).toString()).toBe(whole);
    }
  });
});
