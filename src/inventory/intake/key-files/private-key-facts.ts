import { AsnConvert } from '@peculiar/asn1-schema';
import { SubjectPublicKeyInfo } from '@peculiar/asn1-x509';
import { createDecipheriv, createHash, createPublicKey, getCipherInfo, type KeyObject } from 'node:crypto';
import { sha256 } from './x509-certificate.js';
import { DER, derElements, elementsInside } from '../../../formats/asn1/der-reader.js';
import { affordablePrivateKey } from '../../../formats/asn1/key-cost.js';
import { WireReader } from '../../../formats/ssh/wire.js';
import type { FoundPrivateKey } from './credential-components.js';
import { type DerivationBudget, passwordEncryption } from '../../../formats/pkcs/password-encryption.js';
import {
  type PublicKeyAlgorithm,
  publicKeyAlgorithm,
  sized,
} from '../../judgement/vocabularies/public-key-algorithm.js';
import { nameByOid } from '../../judgement/vocabularies/object-identifiers.js';
import { bytesOf, type PemBlock } from '../../../formats/encoding/pem-blocks.js';
import { readSshPublicKey } from './ssh-public-key.js';
import { truncate } from '../../../platform/text/truncate.js';

const OPENSSH_MAGIC = 'openssh-key-v1\0';

/** describePublicKey returns the algorithm of a public key and the SHA-256 of its SubjectPublicKeyInfo. */
export function describePublicKey(key: KeyObject): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return describeSpki(key.export({ type: 'spki', format: 'der' }));
}

export function describeSpki(spki: Buffer): { algorithm: PublicKeyAlgorithm; fingerprint: string } {
  return { algorithm: publicKeyAlgorithm(AsnConvert.parse(spki, SubjectPublicKeyInfo)), fingerprint: sha256(spki) };
}

/**
 * readPrivateKeyFacts identifies the private key in a PEM block. The private key itself is not kept. An encrypted key is decrypted if there is a password;
 * otherwise, only its protection is listed.
 *
 * @throws Error if the block is not a private key
 */
export function readPrivateKeyFacts(block: PemBlock, password: string, budget: DerivationBudget): FoundPrivateKey {
  const { label, text } = block;
  const bytes = bytesOf(block);
  if (bytes.length === 0) throw new RangeError('no key bytes');
  if (label === 'OPENSSH PRIVATE KEY') return readOpenSsh(bytes);
  if (label === 'ENCRYPTED PRIVATE KEY') return readEncrypted(bytes, password, budget);
  const cipher = /^DEK-Info: *([A-Z0-9-]{1,40}),/m.exec(text)?.[1];
  if (cipher !== undefined && text.includes('ENCRYPTED')) return readOldEncrypted(block, cipher, password);
  return found(affordablePrivateKey(bytes), undefined);
}

/** Like `readPrivateKeyFacts`, but for DER: PKCS #8 (plain or encrypted), PKCS #1 and SEC 1. @throws Error if the bytes are in none of these formats */
export function readDerPrivateKey(der: Buffer, password: string, budget: DerivationBudget): FoundPrivateKey {
  const [first] = elementsInside(derElements(der)[0]);
  if (first?.tag === DER.sequence) return readEncrypted(der, password, budget);
  return found(affordablePrivateKey(der), undefined);
}

function found(key: KeyObject, securedBy: string | undefined): FoundPrivateKey {
  const { algorithm, fingerprint } = describePublicKey(createPublicKey(key));
  return { name: `private key ${fingerprint.slice(0, 16)}`, fingerprint, algorithm, securedBy };
}

/** Identifies an encrypted key by its encrypted bytes, because its public key cannot be read. */
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

/** Reads an EncryptedPrivateKeyInfo (RFC 5958 section 3). */
function readEncrypted(der: Buffer, password: string, budget: DerivationBudget): FoundPrivateKey {
  const [algorithm, content] = elementsInside(derElements(der)[0]);
  if (algorithm?.tag !== DER.sequence || content?.tag !== DER.octetString) throw new RangeError('not an encrypted key');
  const { name, decrypt } = passwordEncryption(algorithm.raw, nameByOid);
  if (password !== '' && decrypt !== undefined) {
    let clear: Buffer | undefined;
    try {
      clear = decrypt(content.contents, password, budget);
      return found(affordablePrivateKey(clear, ['pkcs8']), name);
    } catch {
      // The password is wrong or decryption is too costly, so the key is listed as encrypted.
    } finally {
      clear?.fill(0);
    }
  }
  return closed(der, undefined, name);
}

/** Reads a key with PEM encryption (RFC 1421), as written by OpenSSL. The label contains the key's algorithm, and the DEK-Info header contains the cipher. */
function readOldEncrypted(block: PemBlock, cipher: string, password: string): FoundPrivateKey {
  const { label } = block;
  const securedBy = `PEM ${cipher}`;
  if (password !== '') {
    let clear: Buffer | undefined;
    try {
      clear = oldDecrypted(block, cipher, password);
      return found(affordablePrivateKey(clear), securedBy);
    } catch {
      // The password is wrong or reading the key is too costly, so the key is listed as encrypted.
    } finally {
      clear?.fill(0);
    }
  }
  const name = label.replace(' PRIVATE KEY', '');
  const known = ['RSA', 'DSA', 'EC'].includes(name) ? sized(KEY_OID[name] ?? '', name, null) : undefined;
  return closed(bytesOf(block), known, securedBy);
}

/** Derives the key like OpenSSL's EVP_BytesToKey: MD5 of the password and the first eight octets of the IV. */
function oldDecrypted(block: PemBlock, cipher: string, password: string): Buffer {
  const iv = Buffer.from(/^DEK-Info: *[A-Z0-9-]{1,40}, *([0-9A-Fa-f]{16,64})/m.exec(block.text)?.[1] ?? '', 'hex');
  const { keyLength = 0 } = getCipherInfo(cipher) ?? {};
  let key = Buffer.alloc(0);
  for (let last = key; key.length < keyLength; key = Buffer.concat([key, last]))
    last = createHash('md5').update(last).update(password).update(iv.subarray(0, 8)).digest();
  const decipher = createDecipheriv(cipher, key.subarray(0, keyLength), iv);
  return Buffer.concat([decipher.update(bytesOf(block)), decipher.final()]);
}

const KEY_OID: Readonly<Record<string, string>> = {
  RSA: '1.2.840.113549.1.1.1',
  DSA: '1.2.840.10040.4.1',
  EC: '1.2.840.10045.2.1',
};

/** Reads an OpenSSH private key (PROTOCOL.key). The public key precedes the encrypted part. */
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
