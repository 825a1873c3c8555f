import { constants, createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { verifiesDigest } from '../../verifier/digest-signature.js';
import { RsaCheck } from './rsa-check.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
const spki = publicKey.export({ type: 'spki', format: 'der' });
const sha256 = (content: string) => createHash('sha256').update(content).digest();

/** Returns a signature whose first octet is zero. One in 256 signatures has this property. */
function signatureWithZero(key: KeyObject, padding: number): { content: string; signature: Buffer } {
  for (let i = 0; ; i += 1) {
    const signature = sign('sha256', Buffer.from(`file ${i}`), { key, padding, saltLength: 32 });
    if (signature[0] === 0) return { content: `file ${i}`, signature };
  }
}

it.each([
  ['pkcs1', constants.RSA_PKCS1_PADDING],
  ['pss', constants.RSA_PKCS1_PSS_PADDING],
] as const)('%s: a signature that is not as long as the modulus is invalid', (scheme, padding) => {
  const check = new RsaCheck();
  const { content, signature } = signatureWithZero(privateKey, padding);
  expect(check[scheme](spki, 'sha256', sha256(content), signature)).toBe(true);
  expect(check[scheme](spki, 'sha256', sha256(content), signature.subarray(1))).toBe(false);
});

it('the offline verifier refuses a signature without its leading zero as well', () => {
  const { content, signature } = signatureWithZero(privateKey, constants.RSA_PKCS1_PADDING);
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const signed = { algorithm: 'sha256', scheme: 'rsa-pkcs1v15', digest: sha256(content) };
  expect(verifiesDigest(pem, { ...signed, signature })).toBe(true);
  expect(verifiesDigest(pem, { ...signed, signature: signature.subarray(1) })).toBe(false);
});
