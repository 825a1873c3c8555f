import { AsnConvert } from '@peculiar/asn1-schema';
import { SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { sha256 } from './certificate-reader.js';
import { DER, derElements, elementsInside } from '../../formats/asn1/der-reader.js';
import { WireReader } from '../../formats/ssh/wire.js';
import type { FoundPrivateKey } from './credential-components.js';
import { type DerivationBudget, passwordEncryption } from '../../formats/pkcs/password-encryption.js';
import { type PublicKeyAlgorithm, publicKeyAlgorithm, sized } from '../key-algorithms/public-key-algorithm.js';
import { nameByOid } from '../vocabularies/object-identifiers.js';
import { bytesOf, type PemBlock } from '../../formats/encoding/pem-blocks.js';
import { readSshPublicKey } from './ssh-public-key.js';
import { truncate } from '../../platform/text/truncate.js';
import { writePem } from '../../formats/encoding/base64.js';

const OPENSSH_MAGIC = 'openssh-key-v1\0';

/** The algorithm of a public key and the SHA-256 of its SubjectPublicKeyInfo. */
export function describePublicKey(key: KeyObject): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return describeSpki(key.export({ type: 'spki', format: 'der' }));
}

export function describeSpki(spki: Buffer): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return { algorithm: publicKeyAlgorithm(AsnConvert.parse(spki, SubjectPublicKeyInfo)), fingerprint: sha256(spki) };
}

/**
 * Identifies the key in a PEM block of a private key; nothing of the private half is kept. An encrypted one is opened with the password, if
 * there is one; else only its protection is listed.
 *
 * @throws Error when it is no private key.
 */
export function readPrivateKeyFacts(block: PemBlock, password: string, budget: DerivationBudget): FoundPrivateKey {
  const { label, text } = block;
  const bytes = bytesOf(block);
  if (bytes.length === 0) throw new RangeError('no bytes of a key');
  if (label === 'OPENSSH PRIVATE KEY') return readOpenSsh(bytes);
  if (label === 'ENCRYPTED PRIVATE KEY') return readEncrypted(bytes, password, budget);
  const cipher = /^DEK-Info: *([A-Z0-9-]{1,40}),/m.exec(text)?.[1];
  if (cipher !== undefined && text.includes('ENCRYPTED')) return readOldEncrypted(block, cipher, password);
  return found(createPrivateKey(writePem(label, bytes)), undefined);
}

/** The same of DER: PKCS #8, plain or encrypted, PKCS #1 and SEC 1. @throws Error when it is none of them. */
export function readDerPrivateKey(der: Buffer, password: string, budget: DerivationBudget): FoundPrivateKey {
  const [first] = elementsInside(derElements(der)[0]);
  if (first?.tag === DER.sequence) return readEncrypted(der, password, budget);
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const)
    try {
      return found(createPrivateKey({ key: der, format: 'der', type }), undefined);
    } catch {
      // It is a key of another type.
    }
  throw new RangeError('no private key');
}

function found(key: KeyObject, securedBy: string | undefined): FoundPrivateKey {
  const { algorithm, fingerprint } = describePublicKey(createPublicKey(key));
  return { name: `private key ${fingerprint.slice(0, 16)}`, fingerprint, algorithm, securedBy };
}

/** An encrypted key whose public half is not readable is identified by its encrypted bytes. */
function closed(bytes: Buffer, algorithm: PublicKeyAlgorithm | undefined, securedBy: string): FoundPrivateKey {
  const fingerprint = sha256(bytes);
  return {
    name: `encrypted private key ${fingerprint.slice(0, 16)}`,
    fingerprint,
    id: fingerprint,
    algorithm,
    securedBy,
  };
}

/** An EncryptedPrivateKeyInfo (RFC 5958 section 3). */
function readEncrypted(der: Buffer, password: string, budget: DerivationBudget): FoundPrivateKey {
  const [algorithm, content] = elementsInside(derElements(der)[0]);
  if (algorithm?.tag !== DER.sequence || content?.tag !== DER.octetString) throw new RangeError('no encrypted key');
  const { name, decrypt } = passwordEncryption(algorithm.raw, nameByOid);
  if (password !== '' && decrypt !== undefined) {
    let clear: Buffer | undefined;
    try {
      clear = decrypt(content.contents, password, budget);
      return found(createPrivateKey({ key: clear, format: 'der', type: 'pkcs8' }), name);
    } catch {
      // Another password, or it costs too much: it is listed as closed.
    } finally {
      clear?.fill(0);
    }
  }
  return closed(der, undefined, name);
}

/** Encryption of RFC 1421, as OpenSSL writes it: the label names the algorithm, the header the cipher. */
function readOldEncrypted(block: PemBlock, cipher: string, password: string): FoundPrivateKey {
  const { label, text } = block;
  const securedBy = `PEM ${cipher}`;
  if (password !== '')
    try {
      return found(createPrivateKey({ key: text, passphrase: password }), securedBy);
    } catch {
      // Another password.
    }
  const name = label.replace(' PRIVATE KEY', '');
  const known = ['RSA', 'DSA', 'EC'].includes(name) ? sized(KEY_OID[name] ?? '', name, null) : undefined;
  return closed(bytesOf(block), known, securedBy);
}

const KEY_OID: Readonly<Record<string, string>> = {
  RSA: '1.2.840.113549.1.1.1',
  DSA: '1.2.840.10040.4.1',
  EC: '1.2.840.10045.2.1',
};

/** OpenSSH's PROTOCOL.key: the public half stands before the encrypted part. */
function readOpenSsh(bytes: Buffer): FoundPrivateKey {
  if (bytes.toString('latin1', 0, OPENSSH_MAGIC.length) !== OPENSSH_MAGIC) throw new RangeError('not an OpenSSH key');
  const fields = new WireReader(bytes, OPENSSH_MAGIC.length);
  const [cipher, kdf] = [fields.text(), fields.text()];
  fields.string();
  fields.uint32();
  const { algorithm, fingerprint, sshFingerprint, name } = readSshPublicKey(fields.string(), '');
  const securedBy = cipher === 'none' ? undefined : truncate(`${kdf} ${cipher}`, 100);
  return { name: `private key ${name}`, fingerprint: fingerprint ?? sshFingerprint ?? name, algorithm, securedBy };
}
