import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifiesDigest } from './digest-signature.js';

const CONTENT = Buffer.from('what is released');
const digestOf = (algorithm: string) => createHash(algorithm).update(CONTENT).digest();
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();

describe('a signature is verified from the digest alone', () => {
  it.each([
    ['P-256', 'sha256', 'ecdsa-der'],
    ['P-256', 'sha512', 'ecdsa-raw'],
    ['P-384', 'sha384', 'ecdsa-der'],
    ['P-521', 'sha512', 'ecdsa-raw'],
    ['P-521', 'sha256', 'ecdsa-der'],
  ])('with ECDSA on %s with %s as %s', (namedCurve, algorithm, scheme) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve });
    const dsaEncoding = scheme === 'ecdsa-raw' ? 'ieee-p1363' : 'der';
    for (let round = 0; round < 2; round += 1) {
      const signature = sign(algorithm, CONTENT, { key: privateKey, dsaEncoding });
      const signed = { algorithm, scheme, digest: digestOf(algorithm), signature };
      expect(verifiesDigest(pem(publicKey), signed)).toBe(true);
      expect(verifiesDigest(pem(publicKey), { ...signed, digest: digestOf('sha3-256') })).toBe(false);
      const changed = Buffer.from(signature);
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      expect(verifiesDigest(pem(publicKey), { ...signed, signature: changed })).toBe(false);
      for (const length of [0, 1, 8, signature.length - 1])
        expect(verifiesDigest(pem(publicKey), { ...signed, signature: signature.subarray(0, length) })).toBe(false);
    }
  });

  it('with RSA PKCS #1 v1.5 and ML-DSA, but not with RSASSA-PSS', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const digest = digestOf('sha256');
    const signed = {
      algorithm: 'sha256',
      scheme: 'rsa-pkcs1v15',
      digest,
      signature: sign('sha256', CONTENT, rsa.privateKey),
    };
    expect(verifiesDigest(pem(rsa.publicKey), signed)).toBe(true);
    expect(verifiesDigest(pem(rsa.publicKey), { ...signed, digest: digestOf('sha3-256') })).toBe(false);
    expect(verifiesDigest(pem(rsa.publicKey), { ...signed, scheme: 'rsa-pss' })).toBeUndefined();
    const mlDsa = generateKeyPairSync('ml-dsa-44');
    // Earlier versions of the service signed without a context.
    for (const context of ['sealwright digest sha256', '']) {
      const signature = sign(null, digest, { key: mlDsa.privateKey, context: Buffer.from(context) });
      const bare = { algorithm: 'sha256', scheme: 'ml-dsa', digest, signature };
      expect(verifiesDigest(pem(mlDsa.publicKey), bare)).toBe(true);
      expect(verifiesDigest(pem(mlDsa.publicKey), { ...bare, digest: digestOf('sha3-256') })).toBe(false);
    }
    const other = sign(null, digest, { key: mlDsa.privateKey, context: Buffer.from('sealwright digest sha3-256') });
    const swapped = { algorithm: 'sha256', scheme: 'ml-dsa', digest, signature: other };
    expect(verifiesDigest(pem(mlDsa.publicKey), swapped)).toBe(false);
  });
});
