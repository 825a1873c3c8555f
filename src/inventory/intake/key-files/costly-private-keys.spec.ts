import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { integer, octetString, oid, sequence } from '../../../formats/asn1/der-writer.js';
import { writePem } from '../../../formats/encoding/base64.js';
import { sha256 } from './x509-certificate.js';
import { readCredentialFile } from './credential-reader.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { publicKeyFingerprint } from '../../model/secrets.js';

const PASSWORD = 'changeit';
const DSA = '1.2.840.10040.4.1';
const DIFFIE_HELLMAN = '1.2.840.113549.1.3.1';

const digits = (octets: number) => integer(Buffer.alloc(octets, 0x7b));
/** Returns a PKCS #8 private key without the public key, which OpenSSL computes from integers of this length. */
const privateKeyOf = (algorithm: string, octets: number) =>
  sequence(
    integer(Buffer.from([0])),
    sequence(oid(algorithm), sequence(digits(octets), digits(octets), digits(octets))),
    octetString(digits(octets)),
  );
const COSTLY = [DSA, DIFFIE_HELLMAN].map((algorithm) => privateKeyOf(algorithm, 1024));
const ORDINARY: [string, KeyObject][] = [
  ['DSA of 3,072 bits', generateKeyPairSync('dsa', { modulusLength: 3072, divisorLength: 256 }).privateKey],
  ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 3072, hashAlgorithm: 'sha512' }).privateKey],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey],
  ['EC', generateKeyPairSync('ec', { namedCurve: 'secp521r1', paramEncoding: 'explicit' }).privateKey],
];

function listed(bytes: Buffer | string, password = ''): unknown[] {
  const draft = readCredentialFile(Buffer.from(bytes), { source: 'host:/key', password });
  return [...draft.assets(new DraftRefs())].map(({ component }) => component.name);
}

describe('a private key without its public half', () => {
  it.each([
    ['DER', (der: Buffer) => der],
    ['PEM of PKCS #8', (der: Buffer) => writePem('PRIVATE KEY', der)],
    ['PEM of a DSA key', (der: Buffer) => writePem('DSA PRIVATE KEY', der)],
    ['PEM of an RSA key', (der: Buffer) => writePem('RSA PRIVATE KEY', der)],
    ['PEM of a public key', (der: Buffer) => writePem('DSA PUBLIC KEY', der)],
  ])('is rejected if computing that half would be costly: %s', (_, written) => {
    for (const der of COSTLY) {
      expect(listed(written(der))).toEqual([]);
      expect(publicKeyFingerprint(String(written(der)))).toBeUndefined();
      expect(publicKeyFingerprint(der.toString('base64'))).toBeUndefined();
    }
  });

  it.each(ORDINARY)('is listed with that half if it has an ordinary size: %s', (_, key) => {
    const fingerprint = sha256(createPublicKey(key).export({ type: 'spki', format: 'der' }));
    const der = key.export({ type: 'pkcs8', format: 'der' });
    const pem = key.export({ type: 'pkcs8', format: 'pem' });
    for (const bytes of [der, pem]) expect(listed(bytes)).toContain(`private key ${fingerprint.slice(0, 16)}`);
    for (const text of [der.toString('base64'), String(pem)]) expect(publicKeyFingerprint(text)).toBe(fingerprint);
  });

  it.each(['aes-256-cbc', 'aes-128-cbc', 'des-ede3-cbc'])('is decrypted from old PEM: %s', (cipher) => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs1', format: 'pem', cipher, passphrase: PASSWORD });
    const name = `private key ${sha256(publicKey.export({ type: 'spki', format: 'der' })).slice(0, 16)}`;
    expect(listed(pem, PASSWORD)).toContain(name);
    expect(listed(pem, 'another')).not.toContain(name);
  });
});
