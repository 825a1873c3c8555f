import { AsnConvert } from '@peculiar/asn1-schema';
import { SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from './certificate-reader.js';
import type { FoundPrivateKey } from './found-assets.js';
import { type PublicKeyAlgorithm, publicKeyAlgorithm } from './public-key-algorithm.js';
import type { PemBlock } from './pem-blocks.js';
import { readSshPublicKey } from './ssh-public-key.js';
import { truncate } from '../../platform/text/truncate.js';

const OPENSSH_MAGIC = 'openssh-key-v1\0';

/** The algorithm of a public key and the SHA-256 of its SubjectPublicKeyInfo. */
export function describePublicKey(key: KeyObject): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return describeSpki(key.export({ type: 'spki', format: 'der' }));
}

export function describeSpki(spki: Buffer): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return { algorithm: publicKeyAlgorithm(AsnConvert.parse(spki, SubjectPublicKeyInfo)), fingerprint: sha256(spki) };
}

/**
 * Which key a PEM block of a private key is; nothing of the private half is kept.
 *
 * @throws Error when it cannot be told: encrypted, and the public half is not beside it.
 */
export function readPrivateKey({ label, bytes, text }: PemBlock): FoundPrivateKey {
  if (label === 'OPENSSH PRIVATE KEY') return readOpenSsh(bytes);
  const { algorithm, fingerprint } = describePublicKey(createPublicKey(createPrivateKey(text)));
  return { name: `private key ${fingerprint.slice(0, 16)}`, fingerprint, algorithm, securedBy: undefined };
}

/** OpenSSH's PROTOCOL.key: the public half stands before the encrypted part. */
function readOpenSsh(bytes: Buffer): FoundPrivateKey {
  if (bytes.toString('latin1', 0, OPENSSH_MAGIC.length) !== OPENSSH_MAGIC) throw new RangeError('not an OpenSSH key');
  let at = OPENSSH_MAGIC.length;
  const next = () => {
    const length = bytes.readUInt32BE(at);
    const field = bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    return field;
  };
  const [cipher, kdf] = [next().toString('latin1'), next().toString('latin1')];
  next();
  at += 4;
  const { algorithm, fingerprint, sshFingerprint, name } = readSshPublicKey(next(), '');
  const securedBy = cipher === 'none' ? undefined : truncate(`${kdf} ${cipher}`, 100);
  return { name: `private key ${name}`, fingerprint: fingerprint ?? sshFingerprint ?? name, algorithm, securedBy };
}
