import { describe, expect, it } from 'vitest';
import { digestAlgorithm, digestBytes, schemeFor } from './sign-request-validator.js';

const codeOf = (work: () => unknown): unknown => {
  try {
    work();
    return 'nothing refused';
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
};

describe('digest algorithms', () => {
  it.each([
    ['sha256', 'sha256'],
    ['SHA-256', 'sha256'],
    ['sha2-512', 'sha512'],
    ['SHA3-384', 'sha3-384'],
    ['sha3-256', 'sha3-256'],
  ])('%s is normalized to %s', (given, name) => expect(digestAlgorithm(given)).toBe(name));

  it.each(['sha1', 'SHA-1', 'md5', 'sha224', '', 'sha2-256x', 'sha3256', '__proto__'])('%j is rejected', (given) =>
    expect(codeOf(() => digestAlgorithm(given))).toBe('algorithm.unsupported'),
  );
});

describe('digest values', () => {
  const hash = Buffer.alloc(32, 7);

  it('are the base64 of the binary value', () => expect(digestBytes(hash.toString('base64'), 'sha256')).toEqual(hash));

  it.each([
    ['hex', hash.toString('hex'), 'sha256', 'digest.hex'],
    ['hex whose base64 reading has the length of sha384', hash.toString('hex'), 'sha384', 'digest.hex'],
    ['upper-case hex', Buffer.alloc(32, 0xab).toString('hex').toUpperCase(), 'sha256', 'digest.hex'],
    ['base64url', Buffer.alloc(32, 0xff).toString('base64url'), 'sha256', 'digest.not-base64'],
    ['no padding', hash.toString('base64').replace('=', ''), 'sha256', 'digest.not-base64'],
    ['stray bits in the last character', 'YR==', 'sha256', 'digest.not-base64'],
    ['nothing', '', 'sha256', 'digest.not-base64'],
    ['20 bytes for sha256', Buffer.alloc(20).toString('base64'), 'sha256', 'digest.length'],
    ['sha256 for sha512', hash.toString('base64'), 'sha512', 'digest.length'],
  ] as const)('with %s are rejected', (_, given, algorithm, code) =>
    expect(codeOf(() => digestBytes(given, algorithm))).toBe(code),
  );
});

describe('signature schemes', () => {
  it('default to the scheme that most verifiers expect', () => {
    expect(schemeFor('rsa-2048', undefined)).toBe('rsa-pkcs1v15');
    expect(schemeFor('ec-p521', undefined)).toBe('ecdsa-der');
  });

  it('must fit the key', () => {
    expect(schemeFor('rsa-4096', 'rsa-pss')).toBe('rsa-pss');
    expect(codeOf(() => schemeFor('ec-p256', 'rsa-pss'))).toBe('scheme.wrong-key');
    expect(codeOf(() => schemeFor('rsa-2048', 'ecdsa-raw'))).toBe('scheme.wrong-key');
  });
});
