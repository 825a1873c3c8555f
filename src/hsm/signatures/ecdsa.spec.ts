import { generateKeyPairSync, sign, verify } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CURVE_BYTES, type CurveType, derToRaw, leftmostBits, rawToDer } from './ecdsa.js';

const CURVES = Object.keys(CURVE_BYTES) as CurveType[];
const NODE_NAMES: Record<CurveType, string> = { 'ec-p256': 'P-256', 'ec-p384': 'P-384', 'ec-p521': 'P-521' };

describe('rawToDer and derToRaw', () => {
  it.each(CURVES)('convert r‖s on %s to a signature that OpenSSL verifies, and back', (curve) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: NODE_NAMES[curve] });
    for (let round = 0; round < 40; round += 1) {
      const message = Buffer.from(`message ${round}`);
      const raw = sign('sha512', message, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      const der = rawToDer(raw);
      expect(verify('sha512', message, publicKey, der)).toBe(true);
      expect(derToRaw(der, curve)).toEqual(raw);
    }
  });

  it.each(CURVES)(
    'are inverse for arbitrary integers on %s, including short ones and those with the top bit set',
    (curve) => {
      const size = CURVE_BYTES[curve];
      const number = fc
        .uint8Array({ minLength: 1, maxLength: size })
        .map((bytes) => Buffer.concat([Buffer.alloc(size - bytes.length), bytes]));
      fc.assert(
        fc.property(number, number, (r, s) => {
          const raw = Buffer.concat([r, s]);
          expect(derToRaw(rawToDer(raw), curve)).toEqual(raw);
        }),
      );
    },
  );

  it('write the long length form for P-521, and minimal INTEGERs', () => {
    expect(rawToDer(Buffer.alloc(132, 0xff)).subarray(0, 6).toString('hex')).toBe('30818a024300');
    expect(rawToDer(Buffer.from('000180ff', 'hex')).toString('hex')).toBe('300802010102030080ff');
    expect(rawToDer(Buffer.alloc(4)).toString('hex')).toBe('3006020100020100');
  });

  it.each([
    ['a negative INTEGER', '3006020180020101'],
    ['an INTEGER that is not minimal', '300702020001020101'],
    ['three INTEGERs', '3009020101020101020101'],
    ['bytes behind the SEQUENCE', '300602010102010100'],
    ['an INTEGER longer than the curve', `3026022101${'00'.repeat(32)}020101`],
    ['a length in more octets than it needs', '308106020101020101'],
    ['an INTEGER with such a length', '30070281010102010 1'.replace(' ', '')],
    ['an indefinite length', '3080020101020101'],
    ['a cut', '3006020101'],
  ])('reject %s', (_what, hex) => {
    expect(() => derToRaw(Buffer.from(hex, 'hex'), 'ec-p256')).toThrow(RangeError);
  });
});

it('leftmostBits keeps the leftmost bytes up to the length of the group order', () => {
  const digest = Buffer.from(Array.from({ length: 64 }, (_, index) => index));
  expect(leftmostBits(digest, 'ec-p256')).toEqual(digest.subarray(0, 32));
  expect(leftmostBits(digest, 'ec-p384')).toEqual(digest.subarray(0, 48));
  expect(leftmostBits(digest, 'ec-p521')).toEqual(digest);
});
