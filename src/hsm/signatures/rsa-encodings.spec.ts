import {
  constants,
  createHash,
  generateKeyPairSync,
  privateEncrypt,
  publicDecrypt,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DIGEST_BYTES, type DigestAlgorithm } from '../key-vault.js';
import { digestInfo } from '../../formats/asn1/digest-info.js';
import { encodePss, verifyPss } from './rsa-encodings.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES) as DigestAlgorithm[];
const MESSAGE = Buffer.from('what is signed');
/** With 2041 bits, the encoding is one byte shorter than the modulus (RFC 8017 section 9.1.1). */
const KEYS = [2048, 2045, 2041].map((bits) => ({ bits, ...generateKeyPairSync('rsa', { modulusLength: bits }) }));
const [KEY] = KEYS;

function digestOf(algorithm: DigestAlgorithm): Buffer {
  return createHash(algorithm).update(MESSAGE).digest();
}

describe('digestInfo', () => {
  it.each(ALGORITHMS)('%s matches what OpenSSL signs and verifies', (algorithm) => {
    if (!KEY) throw new Error('no key');
    const info = digestInfo(algorithm, digestOf(algorithm));
    expect(publicDecrypt(KEY.publicKey, sign(algorithm, MESSAGE, KEY.privateKey))).toEqual(info);
    expect(verify(algorithm, MESSAGE, KEY.publicKey, privateEncrypt(KEY.privateKey, info))).toBe(true);
  });
});

describe.each(KEYS)('EMSA-PSS with a modulus of $bits bits', ({ bits, publicKey, privateKey }) => {
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  const raw = constants.RSA_NO_PADDING;

  it.each(ALGORITHMS)('%s: OpenSSL verifies the output of encodePss', (algorithm) => {
    const encoded = encodePss(algorithm, digestOf(algorithm), randomBytes(DIGEST_BYTES[algorithm]), bits);
    const signature = privateEncrypt({ key: privateKey, padding: raw }, encoded);
    expect(verify(algorithm, MESSAGE, { key: publicKey, ...pss }, signature)).toBe(true);
  });

  it.each(ALGORITHMS)('%s: verifyPss accepts OpenSSL output, and rejects any single-bit change', (algorithm) => {
    const signature = sign(algorithm, MESSAGE, { key: privateKey, ...pss });
    const encoded = publicDecrypt({ key: publicKey, padding: raw }, signature);
    expect(verifyPss(algorithm, digestOf(algorithm), encoded, bits)).toBe(true);
    for (let at = 0; at < encoded.length; at += 7) {
      const changed = Buffer.from(encoded);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      expect(verifyPss(algorithm, digestOf(algorithm), changed, bits)).toBe(false);
    }
    expect(verifyPss(algorithm, randomBytes(DIGEST_BYTES[algorithm]), encoded, bits)).toBe(false);
  });

  it('rejects a salt that is not as long as the digest', () => {
    const signature = sign('sha256', MESSAGE, { key: privateKey, ...pss, saltLength: 20 });
    const encoded = publicDecrypt({ key: publicKey, padding: raw }, signature);
    expect(verifyPss('sha256', digestOf('sha256'), encoded, bits)).toBe(false);
  });
});

it('encodePss rejects a modulus that is too short', () => {
  expect(() => encodePss('sha512', randomBytes(64), randomBytes(64), 1024)).toThrow(RangeError);
});
