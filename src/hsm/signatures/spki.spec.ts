import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CurveType } from './ecdsa.js';
import { ecPointOf, ecPublicKeyInfo, rsaPublicKeyInfo } from './spki.js';

const CURVES: [CurveType, string][] = [
  ['ec-p256', 'P-256'],
  ['ec-p384', 'P-384'],
  ['ec-p521', 'P-521'],
];

function spkiOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' });
}

it('rsaPublicKeyInfo returns the same DER as OpenSSL', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const [modulus, exponent] = [Buffer.from(n, 'base64url'), Buffer.from(e, 'base64url')];
  expect(rsaPublicKeyInfo(modulus, exponent)).toEqual(spkiOf(publicKey));
  expect(rsaPublicKeyInfo(Buffer.concat([Buffer.alloc(1), modulus]), exponent)).toEqual(spkiOf(publicKey));
});

describe.each(CURVES)('on %s', (curve, namedCurve) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const length = point.length < 0x80 ? [point.length] : [0x81, point.length];
  const wrapped = Buffer.concat([Buffer.from([0x04, ...length]), point]);

  it('ecPublicKeyInfo returns the same DER as OpenSSL, from CKA_EC_POINT with and without OCTET STRING', () => {
    expect(ecPublicKeyInfo(curve, wrapped)).toEqual(spkiOf(publicKey));
    expect(ecPublicKeyInfo(curve, point)).toEqual(spkiOf(publicKey));
  });

  it('ecPointOf returns CKA_EC_POINT', () => {
    expect(ecPointOf(curve, spkiOf(publicKey))).toEqual(wrapped);
  });

  it('ecPointOf rejects a key on another curve, of another kind, or truncated', () => {
    const other = generateKeyPairSync('ec', { namedCurve: namedCurve === 'P-256' ? 'P-384' : 'P-256' });
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(() => ecPointOf(curve, spkiOf(other.publicKey))).toThrow(RangeError);
    expect(() => ecPointOf(curve, spkiOf(rsa.publicKey))).toThrow(RangeError);
    expect(() => ecPointOf(curve, spkiOf(publicKey).subarray(0, -1))).toThrow(RangeError);
  });
});
