import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { isCostlyJwk } from './key-set.js';

/** Returns a random odd number with the given number of bits, encoded as base64url. */
function odd(bits: number): string {
  const bytes = randomBytes(bits / 8);
  bytes.writeUInt8(bytes.readUInt8() | 0x80);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) | 1, bytes.length - 1);
  return bytes.toString('base64url');
}

it.each([
  ['an exponent as long as the modulus', { kty: 'RSA', n: odd(2048), e: odd(2048) }],
  ['a modulus of 16,384 bits', { kty: 'RSA', n: odd(16_384), e: 'AQAB' }],
])('a published key with %s is too costly', (_, key) => expect(isCostlyJwk(key)).toBe(true));

it.each([
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })],
  ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ format: 'jwk' })],
  ['a kind that is unknown', { kty: 'AKP' }],
  ['none', null],
])('a published key that is %s is not too costly', (_, key) => expect(isCostlyJwk(key)).toBe(false));
