import { createDecipheriv, pbkdf2Sync, scryptSync } from 'node:crypto';
import { Problem } from '../../../platform/errors/problem.js';
import { DER, type DerElement, derElements, dotted, elementsInside } from '../../../formats/asn1/der-reader.js';
import type { BksEntry } from '../../../formats/java/bks.js';
import type { DerivationBudget } from '../../../formats/pkcs/password-encryption.js';
import { closedByPassword } from './credential-reading.js';
import { secretKeyOf, type SecretKeyFacts } from './sealed-secret-key.js';

/** KeyStoreEntry is an entry in a BCFKS store, or a converted entry from a BKS store. */
export interface KeyStoreEntry extends Omit<BksEntry, 'secret'> {
  /** Present for a secret key if it could be decrypted. */
  readonly secret: SecretKeyFacts | undefined;
}

const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
const AES256_CCM = '2.16.840.1.101.3.4.1.47';
const AES256_WRAP_PAD = '2.16.840.1.101.3.4.1.48';
const KEY_BYTES = 32;
const MAX_SCRYPT_BYTES = 128 * 1024 * 1024;
/** Default tag length in bytes, for parameters without a tag length (RFC 5084 section 3.2). */
const DEFAULT_TAG_BYTES = 12;
const WRAP_PAD_IV = Buffer.from('A65959A6', 'hex');
const PRFS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
  '2.16.840.1.101.3.4.2.16': 'sha3-512',
};
const KINDS = ['certificate', 'private-key', 'secret-key', 'private-key', 'secret-key'] as const;

/**
 * isBcfks recognizes a Bouncy Castle `ObjectStore`: the content, either in plaintext or as `{ algorithm, OCTET STRING }`, followed by its integrity check. A
 * certificate has three elements; a private key or a PKCS #12 store begins with an INTEGER.
 */
export function isBcfks(bytes: Buffer): boolean {
  try {
    const [store, ...more] = derElements(bytes);
    const parts = store?.tag === DER.sequence && more.length === 0 ? derElements(store.contents) : [];
    const [data, integrity] = parts;
    if (parts.length !== 2 || data?.tag !== DER.sequence || integrity === undefined) return false;
    const inner = derElements(data.contents);
    return isEncrypted(inner) || (inner[0]?.tag === DER.integer && inner.length >= 5);
  } catch {
    return false;
  }
}

/**
 * readBcfks reads the certificates of a BCFKS store (Bouncy Castle's FIPS key store) and lists its keys. Private keys are not decrypted. Secret keys are
 * decrypted only to read the algorithm and length.
 *
 * @throws Problem 422 `key-store.password` or `key-store.cipher`. RangeError if the store is damaged
 */
export function readBcfks(bytes: Buffer, password: string, budget: DerivationBudget): KeyStoreEntry[] {
  const [data] = elementsInside(derElements(bytes)[0]);
  const parts = elementsInside(data);
  const clear = isEncrypted(parts) ? openStore(parts, password, budget) : data?.contents;
  // The entries follow the version, the integrity algorithm and two times.
  const entries = derElements(clear ?? Buffer.alloc(0)).find(({ tag }, index) => index >= 3 && tag === DER.sequence);
  return elementsInside(entries).map((entry) => entryOf(entry, password, budget));
}

function isEncrypted([algorithm, content, ...more]: readonly DerElement[]): boolean {
  return algorithm?.tag === DER.sequence && content?.tag === DER.octetString && more.length === 0;
}

function openStore(parts: readonly DerElement[], password: string, budget: DerivationBudget): Buffer {
  const { decrypt, name } = schemeOf(parts[0], 'STORE_ENCRYPTION');
  if (decrypt === undefined)
    throw new Problem(
      'refused',
      'key-store.cipher',
      `The key store cannot be read: it uses ${name}, which is not supported.`,
    );
  const clear = decrypt(parts[1]?.contents ?? Buffer.alloc(0), password, budget);
  if (clear === undefined) throw closedByPassword(password);
  return derElements(clear)[0]?.contents ?? Buffer.alloc(0);
}

/** An entry consists of type, alias, two times and data. */
function entryOf(entry: DerElement, password: string, budget: DerivationBudget): KeyStoreEntry {
  const [type, alias, , , data] = elementsInside(entry);
  const kind = KINDS[type?.contents[0] ?? -1];
  if (kind === undefined || alias === undefined || data === undefined)
    throw new RangeError('not an entry of a BCFKS store');
  const name = alias.contents.toString('utf8').replaceAll('\u0000', '');
  if (kind === 'certificate')
    return { alias: name, kind, certificates: [data.contents], securedBy: '', secret: undefined };
  const [first, second] = elementsInside(derElements(data.contents)[0]);
  if (kind === 'private-key') {
    const { name: scheme } = schemeOf(elementsInside(first)[0], 'PRIVATE_KEY_ENCRYPTION');
    return {
      alias: name,
      kind,
      certificates: elementsInside(second).map(({ raw }) => raw),
      securedBy: scheme,
      secret: undefined,
    };
  }
  const { name: scheme, decrypt } = schemeOf(first, 'SECRET_KEY_ENCRYPTION');
  const clear = decrypt?.(second?.contents ?? Buffer.alloc(0), password, budget);
  const secret = clear === undefined ? undefined : secretFacts(clear);
  clear?.fill(0);
  return { alias: name, kind, certificates: [], securedBy: scheme, secret };
}

function secretFacts(clear: Buffer): SecretKeyFacts | undefined {
  try {
    const [id, key] = elementsInside(derElements(clear)[0]);
    if (id === undefined || key === undefined) return undefined;
    return secretKeyOf(dotted(id.contents), key.contents.length);
  } catch {
    return undefined;
  }
}

interface Scheme {
  readonly name: string;
  /**
   * Decrypts bytes, or returns undefined if the password is wrong or the budget is exhausted. Undefined if the cipher or the key derivation function is not
   * supported.
   */
  readonly decrypt: ((bytes: Buffer, password: string, budget: DerivationBudget) => Buffer | undefined) | undefined;
}

/** Returns the encryption scheme: PBES2 (RFC 8018) as used by Bouncy Castle, whose key derivation includes the purpose of the key. */
function schemeOf(algorithm: DerElement | undefined, purpose: string): Scheme {
  const [id, parameters] = elementsInside(algorithm);
  const oid = id === undefined ? '' : dotted(id.contents);
  const [derivation, encryption] = elementsInside(parameters);
  if (oid !== PBES2) return { name: `encrypted as ${oid}`, decrypt: undefined };
  const derive = derivationOf(derivation);
  const [cipher, cipherParameters] = elementsInside(encryption);
  const cipherOid = cipher === undefined ? '' : dotted(cipher.contents);
  const open = cipherOf(cipherOid, cipherParameters);
  const name = open === undefined ? `encrypted as ${cipherOid}` : `PBES2-${derive?.name ?? 'unknown'}-${open.name}`;
  if (derive === undefined || open === undefined) return { name, decrypt: undefined };
  return {
    name,
    decrypt: (bytes, password, budget) => {
      const key = derive.key(Buffer.concat([pkcs12Bytes(password), pkcs12Bytes(purpose)]), budget);
      try {
        return key === undefined ? undefined : open.decrypt(bytes, key);
      } catch {
        return undefined;
      }
    },
  };
}

function derivationOf(algorithm: DerElement | undefined) {
  const [id, parameters] = elementsInside(algorithm);
  const [salt, ...numbers] = elementsInside(parameters);
  if (id === undefined || salt === undefined) return undefined;
  const values = numbers.filter(({ tag }) => tag === DER.integer).map(smallInteger);
  if (dotted(id.contents) === PBKDF2) {
    const prf = elementsInside(numbers.find(({ tag }) => tag === DER.sequence))[0];
    const digest = prf === undefined ? 'sha1' : PRFS[dotted(prf.contents)];
    const [rounds = 0] = values;
    if (digest === undefined) return undefined;
    const key = (secret: Buffer, budget: DerivationBudget) =>
      budget.take(rounds) ? pbkdf2Sync(secret, salt.contents, rounds, KEY_BYTES, digest) : undefined;
    return { name: `HMAC-${digest.toUpperCase()}`, key };
  }
  if (dotted(id.contents) !== SCRYPT) return undefined;
  const [N = 0, r = 0, p = 0] = values;
  const key = (secret: Buffer, budget: DerivationBudget) => {
    const isFit = N > 1 && (N & (N - 1)) === 0 && r > 0 && p > 0 && 128 * N * r <= MAX_SCRYPT_BYTES;
    if (!isFit || !budget.take(N * r * p)) return undefined;
    return scryptSync(secret, salt.contents, KEY_BYTES, { N, r, p, maxmem: 2 * MAX_SCRYPT_BYTES });
  };
  return { name: 'scrypt', key };
}

function cipherOf(oid: string, parameters: DerElement | undefined) {
  if (oid === AES256_WRAP_PAD) {
    const decrypt = (bytes: Buffer, key: Buffer) => {
      const stream = createDecipheriv('id-aes256-wrap-pad', key, WRAP_PAD_IV);
      return Buffer.concat([stream.update(bytes), stream.final()]);
    };
    return { name: 'AES-256-KWP', decrypt };
  }
  const [nonce, tag] = elementsInside(parameters);
  if (oid !== AES256_CCM || nonce === undefined) return undefined;
  const authTagLength = tag === undefined ? DEFAULT_TAG_BYTES : smallInteger(tag);
  const decrypt = (bytes: Buffer, key: Buffer) => {
    const plaintextLength = bytes.length - authTagLength;
    const stream = createDecipheriv('aes-256-ccm', key, nonce.contents, { authTagLength });
    stream.setAuthTag(bytes.subarray(plaintextLength));
    const clear = stream.update(bytes.subarray(0, plaintextLength));
    stream.final();
    return clear;
  };
  return { name: 'AES-256-CCM', decrypt };
}

/** Encodes a password (RFC 7292 appendix B.1): UTF-16 with a NULL terminator, or nothing for an empty password. */
function pkcs12Bytes(text: string): Buffer {
  return text === '' ? Buffer.alloc(0) : Buffer.from(`${text}\u0000`, 'utf16le').swap16();
}

function smallInteger({ contents }: DerElement): number {
  return contents.length > 0 && contents.length <= 4 ? contents.readIntBE(0, contents.length) : 0;
}
