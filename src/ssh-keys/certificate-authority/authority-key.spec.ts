import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, it } from 'vitest';
import { WireReader } from '../../formats/ssh/wire.js';
import { sshSignature } from '../../formats/ssh/ssh-signature.js';
import { signingOf } from './authority-key.js';

const spkiOf = (key: KeyObject) => key.export({ format: 'der', type: 'spki' });
const ec = (namedCurve: string) => spkiOf(generateKeyPairSync('ec', { namedCurve }).publicKey);
const rsa = (modulusLength: number) => spkiOf(generateKeyPairSync('rsa', { modulusLength }).publicKey);

it('the key of an authority says how it signs', () => {
  expect(signingOf(ec('prime256v1'))).toMatchObject({
    type: 'ec-p256',
    algorithm: 'sha256',
    name: 'ecdsa-sha2-nistp256',
  });
  expect(signingOf(ec('secp384r1'))).toMatchObject({
    type: 'ec-p384',
    algorithm: 'sha384',
    name: 'ecdsa-sha2-nistp384',
  });
  expect(signingOf(rsa(3072))).toMatchObject({ type: 'rsa-3072', algorithm: 'sha512', name: 'rsa-sha2-512' });
  expect(() => signingOf(ec('secp521r1'))).toThrow(/no authority/);
  expect(() => signingOf(rsa(2048))).toThrow(/no authority/);
});

it('signatures are written as SSH has them: two numbers for ECDSA, the value for RSA', () => {
  const half = Buffer.alloc(48, 0xff);
  const reader = new WireReader(sshSignature(signingOf(ec('secp384r1')).name, Buffer.concat([half, half])));
  expect(reader.text()).toBe('ecdsa-sha2-nistp384');
  const inner = new WireReader(reader.string());
  // A number with its highest bit set has a zero in front (RFC 4251 section 5).
  expect([inner.string().length, inner.string().length, inner.done]).toEqual([49, 49, true]);
  const value = Buffer.alloc(384, 1);
  const plain = new WireReader(sshSignature(signingOf(rsa(3072)).name, value));
  expect([plain.text(), plain.string().equals(value)]).toEqual(['rsa-sha2-512', true]);
});
