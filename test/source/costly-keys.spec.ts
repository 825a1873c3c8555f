import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { importJWK, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { verifyDpopProof } from '../../src/auth/credentials/possession/dpop-proof.js';
import { readKeySet } from '../../src/auth/credentials/key-sets/key-set.js';
import { affordable, isCostlyKey } from '../../src/formats/asn1/key-cost.js';
import { integer, oid, sequence } from '../../src/formats/asn1/der-writer.js';
import { sshPublicKeyOf } from '../../src/formats/ssh/public-key.js';
import { isSignedBy } from '../../src/formats/ssh/ssh-signature.js';
import { wireString } from '../../src/formats/ssh/wire.js';
import { wholeCertificate } from '../../src/auth/credentials/certificates/certificate-facts.js';
import { selfIssuedCertificate, signed } from '../../src/signing/certificates/certificate-writer.js';
import { cmsSignatureIdentifier, signatureIdentifier } from '../../src/signing/formats/algorithm-identifiers.js';
import { readCms } from '../../src/signing/verification/signed-data-reader.js';

const big = (text = '') => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
const text = (value: bigint) => {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
};

/** Returns the modular inverse (extended Euclidean algorithm). */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (a > 1n) [a, b, x, y] = [b % a, a, y - (b / a) * x, x];
  return ((x % modulus) + modulus) % modulus;
}

/** Returns a genuine key pair with swapped exponents, so that verification uses the long private exponent. */
function costlyPair(): { publicKey: KeyObject; privateKey: KeyObject } {
  const jwk = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const [p, q, e, d] = [big(jwk.p), big(jwk.q), big(jwk.d), big(jwk.e)];
  const parts = { e: text(e), d: text(d), dp: text(d % (p - 1n)), dq: text(d % (q - 1n)), qi: text(inverse(q, p)) };
  const privateKey = createPrivateKey({ key: { ...jwk, ...parts }, format: 'jwk' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

const honest = generateKeyPairSync('rsa', { modulusLength: 2048 });
const costly = costlyPair();
const publicJwk = (key: KeyObject) => key.export({ format: 'jwk' });

/** Returns a self-signed certificate in DER. */
function certificateOf({ publicKey, privateKey }: typeof honest): Buffer {
  const algorithm = signatureIdentifier('rsa-pkcs1v15', 'sha256');
  const toBeSigned = selfIssuedCertificate({
    subject: { commonName: 'stranger' },
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    purpose: 'documents',
    algorithm,
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
  });
  return signed(toBeSigned, algorithm, sign('sha256', toBeSigned, privateKey));
}

describe('a key designed to cost a hundred times as much as a normal one', () => {
  it('has a long public exponent, or more than 8,192 bits', () => {
    expect(isCostlyKey(honest.publicKey)).toBe(false);
    expect(isCostlyKey(costly.publicKey)).toBe(true);
    const long = { asymmetricKeyDetails: { modulusLength: 16_384, publicExponent: 65_537n } };
    expect(isCostlyKey(long)).toBe(true);
    expect(isCostlyKey(generateKeyPairSync('ed25519').publicKey)).toBe(false);
    expect(() => affordable(costly.publicKey)).toThrow('exceeds the limits');
  });

  it('verifies no SSH signature, such as that of a host requesting its next certificate', () => {
    const verifies = ({ publicKey, privateKey }: typeof honest) => {
      const value = sign('sha512', Buffer.from('x'), privateKey);
      const signature = Buffer.concat([wireString('rsa-sha2-512'), wireString(value)]);
      return isSignedBy(sshPublicKeyOf(publicKey).blob, signature, Buffer.from('x'));
    };
    expect(verifies(honest)).toBe(true);
    expect(() => verifies(costly)).toThrow('exceeds the limits');
  });

  it('is not accepted in a key set, or for proof of possession', async () => {
    expect(readKeySet({ keys: [publicJwk(costly.publicKey), publicJwk(honest.publicKey)] })).toHaveLength(1);
    const proofBy = async ({ publicKey, privateKey }: typeof honest) =>
      new SignJWT({ jti: '1', htm: 'POST', htu: 'https://sign.example/x', iat: 1_800_000_000 })
        .setProtectedHeader({ alg: 'RS256', typ: 'dpop+jwt', jwk: publicJwk(publicKey) })
        .sign(await importJWK(privateKey.export({ format: 'jwk' }) as never, 'RS256'));
    const call = { method: 'POST', addresses: ['https://sign.example/x'], accessToken: undefined };
    const now = new Date(1_800_000_000_000);
    await expect(verifyDpopProof(await proofBy(honest), call, now)).resolves.toMatchObject({ jti: '1' });
    await expect(verifyDpopProof(await proofBy(costly), call, now)).rejects.toThrow('no usable public key');
  });

  it('is not accepted in a certificate used for verification', () => {
    expect(wholeCertificate(certificateOf(honest)).subject).toBe('CN=stranger');
    expect(() => wholeCertificate(certificateOf(costly))).toThrow('exceeds the limits');
  });
});

it('a CMS file with more certificates than any path is rejected before path building', () => {
  const digest = Buffer.alloc(32);
  const tagged = (number: number, ...parts: Buffer[]) => {
    const whole = sequence(...parts);
    whole[0] = 0xa0 + number;
    return whole;
  };
  const set = (...parts: Buffer[]) => {
    const whole = sequence(...parts);
    whole[0] = 0x31;
    return whole;
  };
  const octets = Buffer.concat([Buffer.from([4, 32]), digest]);
  const certificate = certificateOf(honest);
  const [sha256, none] = [sequence(oid('2.16.840.1.101.3.4.2.1')), sequence()];
  const attributes = tagged(0, sequence(oid('1.2.840.113549.1.9.4'), set(octets)));
  const signer = sequence(
    integer(1),
    none,
    sha256,
    attributes,
    cmsSignatureIdentifier('rsa-pkcs1v15', 'sha256'),
    octets,
  );
  const signedData = (count: number) =>
    sequence(
      integer(1),
      set(sha256),
      sequence(oid('1.2.840.113549.1.7.1')),
      tagged(0, ...Array.from({ length: count }, () => certificate)),
      set(signer),
    );
  const read = (count: number) => () =>
    readCms({
      digest,
      algorithm: 'sha256',
      signature: sequence(oid('1.2.840.113549.1.7.2'), tagged(0, signedData(count))),
    } as never);
  expect(read(9)).toThrow('more than 8 certificates');
  expect(read(8)).toThrow("its signer's certificate is missing");
});
