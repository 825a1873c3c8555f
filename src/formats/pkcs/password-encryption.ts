import { createDecipheriv, createHash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { DER, type DerElement, derElements, dotted, elementsInside } from '../asn1/der-reader.js';
import { rc2Decrypt, rc4 } from './old-ciphers.js';

/**
 * MAX_ROUNDS is the maximum total number of iterations of PBKDF2 (RFC 8018) or RFC 7292 appendix B.2 for one document. That many iterations take a few seconds.
 * No known tool writes files that require more.
 */
export const MAX_ROUNDS = 3_000_000;

/** DerivationTooCostly means that a key derivation requires more rounds than the budget has left. */
export class DerivationTooCostly extends RangeError {}

/**
 * DerivationBudget limits the number of key derivation rounds for one document. The document itself sets the number for each part, and a store can
 * have a thousand keys with different salts.
 */
export class DerivationBudget {
  private left = MAX_ROUNDS;
  /** Whether a derivation within the document's limit was rejected because it exceeded the sender's current allowance. */
  isShort = false;

  /** @param allowance number of rounds that the sender of the document may currently use */
  constructor(private readonly allowance = MAX_ROUNDS) {}

  /** Number of rounds used. */
  get spent(): number {
    return MAX_ROUNDS - this.left;
  }

  /**
   * Reserves the rounds of a derivation before it runs. Returns false if too few rounds are left or the number is invalid, in which case the part is read
   * without its secrets.
   *
   * @param blocks number of hash blocks in the key, each of which requires all rounds
   */
  take(rounds: number, blocks = 1): boolean {
    const cost = rounds * blocks;
    if (!Number.isSafeInteger(cost) || cost < 1 || cost > this.left) return false;
    if (this.spent + cost > this.allowance) {
      this.isShort = true;
      return false;
    }
    this.left -= cost;
    return true;
  }

  /**
   * Like `take`, for a part that cannot be read without its secrets.
   *
   * @throws DerivationTooCostly if too few rounds are left
   */
  spend(rounds: number, blocks = 1): void {
    if (!this.take(rounds, blocks)) throw new DerivationTooCostly('the key derivation has too many rounds');
  }
}

const SHA1_BYTES = 20;
const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
/** RFC 7914 section 7. */
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
const MAX_SCRYPT_BYTES = 64 * 1024 * 1024;

interface LegacyScheme {
  readonly name: string;
  readonly keyBytes: number;
  readonly decrypt: (key: Buffer, iv: Buffer, bytes: Buffer) => Buffer;
}

/** PKCS #12 schemes (RFC 7292 appendix C). Their names contain the digest and the cipher. */
const LEGACY: Readonly<Record<string, LegacyScheme>> = {
  '1.2.840.113549.1.12.1.1': {
    name: 'PBEWithSHA1AndRC4_128',
    keyBytes: 16,
    decrypt: (key, _, bytes) => rc4(key, bytes),
  },
  '1.2.840.113549.1.12.1.2': { name: 'PBEWithSHA1AndRC4_40', keyBytes: 5, decrypt: (key, _, bytes) => rc4(key, bytes) },
  '1.2.840.113549.1.12.1.3': { name: 'PBEWithSHA1AndDESede', keyBytes: 24, decrypt: tripleDes },
  '1.2.840.113549.1.12.1.4': { name: 'PBEWithSHA1AndDESede', keyBytes: 16, decrypt: tripleDes },
  '1.2.840.113549.1.12.1.5': { name: 'PBEWithSHA1AndRC2_128', keyBytes: 16, decrypt: rc2Decrypt },
  '1.2.840.113549.1.12.1.6': { name: 'PBEWithSHA1AndRC2_40', keyBytes: 5, decrypt: rc2Decrypt },
};
/** PBES1 schemes (RFC 8018 appendix A.3), which OpenSSL before 1.1 used by default. */
const PBES1: Readonly<Record<string, Omit<LegacyScheme, 'keyBytes'> & { readonly digest: string }>> = {
  '1.2.840.113549.1.5.3': { name: 'PBEWithMD5AndDES-CBC', digest: 'md5', decrypt: tripleDes },
  '1.2.840.113549.1.5.6': { name: 'PBEWithMD5AndRC2-CBC', digest: 'md5', decrypt: rc2Decrypt },
  '1.2.840.113549.1.5.10': { name: 'PBEWithSHA1AndDES-CBC', digest: 'sha1', decrypt: tripleDes },
  '1.2.840.113549.1.5.11': { name: 'PBEWithSHA1AndRC2-CBC', digest: 'sha1', decrypt: rc2Decrypt },
};
/** Ciphers by object identifier, with their names in OpenSSL. */
const CIPHERS: Readonly<Record<string, { readonly name: string; readonly keyBytes: number }>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32 },
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', keyBytes: 24 },
  '1.3.14.3.2.7': { name: 'des-cbc', keyBytes: 8 },
  '1.2.392.200011.61.1.1.1.2': { name: 'camellia-128-cbc', keyBytes: 16 },
  '1.2.392.200011.61.1.1.1.3': { name: 'camellia-192-cbc', keyBytes: 24 },
  '1.2.392.200011.61.1.1.1.4': { name: 'camellia-256-cbc', keyBytes: 32 },
  '1.2.410.200046.1.1.2': { name: 'aria-128-cbc', keyBytes: 16 },
  '1.2.410.200046.1.1.7': { name: 'aria-192-cbc', keyBytes: 24 },
  '1.2.410.200046.1.1.12': { name: 'aria-256-cbc', keyBytes: 32 },
  '1.2.156.10197.1.104.2': { name: 'sm4-cbc', keyBytes: 16 },
};
const PRFS: Readonly<Record<string, { readonly digest: string; readonly bytes: number }>> = {
  '1.2.840.113549.2.7': { digest: 'sha1', bytes: SHA1_BYTES },
  '1.2.840.113549.2.8': { digest: 'sha224', bytes: 28 },
  '1.2.840.113549.2.9': { digest: 'sha256', bytes: 32 },
  '1.2.840.113549.2.10': { digest: 'sha384', bytes: 48 },
  '1.2.840.113549.2.11': { digest: 'sha512', bytes: 64 },
  '1.2.840.113549.2.12': { digest: 'sha512-224', bytes: 28 },
  '1.2.840.113549.2.13': { digest: 'sha512-256', bytes: 32 },
  '2.16.840.1.101.3.4.2.14': { digest: 'sha3-256', bytes: 32 },
  '2.16.840.1.101.3.4.2.15': { digest: 'sha3-384', bytes: 48 },
  '2.16.840.1.101.3.4.2.16': { digest: 'sha3-512', bytes: 64 },
};
const SHA1_PRF = '1.2.840.113549.2.7';

/** PasswordEncryption describes how data is encrypted with a password. */
export interface PasswordEncryption {
  /** Name of the scheme, for evaluation by rules. */
  readonly name: string;
  /** Decrypts the data; undefined for an unsupported cipher. Throws an error if the password is wrong, or DerivationTooCostly. */
  readonly decrypt: ((bytes: Buffer, password: string | null, budget: DerivationBudget) => Buffer) | undefined;
  /** Whether the scheme distinguishes no password (null) from an empty password, as PKCS #12 schemes do. */
  readonly takesNoPassword?: boolean;
}

/** NameByOid returns the name of an algorithm that `passwordEncryption` does not support. Undefined if the object identifier is unknown. */
export type NameByOid = (oid: string) => string | undefined;

/**
 * Reads a complete AlgorithmIdentifier of a PKCS #5 (RFC 8018) or PKCS #12 (RFC 7292) scheme.
 *
 * @throws RangeError if the element is not an AlgorithmIdentifier
 */
export function passwordEncryption(algorithm: Buffer, nameByOid: NameByOid): PasswordEncryption {
  const [id, parameters] = elementsInside(derElements(algorithm)[0]);
  const oid = id === undefined ? '' : dotted(id.contents);
  const [first, second] = parameters === undefined ? [] : derElements(parameters.contents);
  if (oid === PBES2 && first !== undefined && second !== undefined) return pbes2(first, second, nameByOid);
  const scheme = LEGACY[oid];
  const name = (scheme ?? PBES1[oid])?.name ?? nameByOid(oid) ?? `encrypted as ${oid}`;
  if (first === undefined) return { name, decrypt: undefined };
  if (scheme === undefined) return { name, decrypt: pbes1(oid, first, second) };
  const rounds = smallInteger(second);
  const decrypt: PasswordEncryption['decrypt'] = (bytes, password, budget) => {
    budget.spend(rounds, Math.ceil(scheme.keyBytes / SHA1_BYTES) + 1);
    const derive = (purpose: number, length: number) =>
      pkcs12Key(password, first.contents, rounds, { purpose, length });
    return scheme.decrypt(derive(1, scheme.keyBytes), derive(2, 8), bytes);
  };
  return { name, decrypt, takesNoPassword: true };
}

/** Decrypts triple DES, repeating a short key. With a single key, triple DES equals DES, which OpenSSL supports only in its legacy provider. */
function tripleDes(key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  const stream = createDecipheriv('des-ede3-cbc', Buffer.alloc(24, key), iv);
  return Buffer.concat([stream.update(bytes), stream.final()]);
}

/** Returns the PBES1 decryption function (RFC 8018 section 6.1). PBES1 derives the key and the IV from an iterated hash of the password and salt. */
function pbes1(oid: string, salt: DerElement, iterations: DerElement | undefined): PasswordEncryption['decrypt'] {
  const scheme = PBES1[oid];
  if (scheme === undefined) return undefined;
  return (bytes, password, budget) => {
    const rounds = smallInteger(iterations);
    budget.spend(rounds);
    let hash = Buffer.concat([Buffer.from(password ?? ''), salt.contents]);
    for (let round = 0; round < rounds; round += 1) hash = createHash(scheme.digest).update(hash).digest();
    return scheme.decrypt(hash.subarray(0, 8), hash.subarray(8, 16), bytes);
  };
}

function pbes2(derivation: DerElement, encryption: DerElement, nameByOid: NameByOid): PasswordEncryption {
  const [cipherId, iv] = derElements(encryption.contents);
  const cipherOid = cipherId === undefined ? '' : dotted(cipherId.contents);
  const cipher = CIPHERS[cipherOid];
  const { name: kdf, derive } = keyDerivation(derivation, nameByOid);
  const cipherName = cipher?.name ?? nameByOid(cipherOid);
  // The name must include the cipher, even an unknown one. Rules would otherwise evaluate only the key derivation.
  const name = cipherName === undefined ? `encrypted as ${cipherOid}` : `PBES2-${kdf}-${cipherName.toUpperCase()}`;
  if (cipher === undefined || derive === undefined || iv === undefined) return { name, decrypt: undefined };
  const decrypt: PasswordEncryption['decrypt'] = (bytes, password, budget) =>
    decipher(cipher.name, derive(password ?? '', cipher.keyBytes, budget), iv.contents, bytes);
  return { name, decrypt };
}

interface KeyDerivation {
  readonly name: string;
  /** Undefined for an unsupported function. */
  readonly derive: ((password: string, keyBytes: number, budget: DerivationBudget) => Buffer) | undefined;
}

function keyDerivation({ contents }: DerElement, nameByOid: NameByOid): KeyDerivation {
  const [id, parameters] = derElements(contents);
  const oid = id === undefined ? '' : dotted(id.contents);
  const [salt, ...rest] = parameters === undefined ? [] : derElements(parameters.contents);
  if (salt !== undefined && oid === PBKDF2) return pbkdf2(salt, rest, nameByOid);
  if (salt !== undefined && oid === SCRYPT) return { name: 'scrypt', derive: scrypt(salt, rest) };
  return { name: nameByOid(oid) ?? 'unknown', derive: undefined };
}

function pbkdf2(salt: DerElement, [iterations, ...rest]: readonly DerElement[], nameByOid: NameByOid): KeyDerivation {
  const prfId = rest.find(({ tag }) => tag === DER.sequence);
  const [prf] = prfId === undefined ? [] : derElements(prfId.contents);
  const oid = prf === undefined ? SHA1_PRF : dotted(prf.contents);
  const hash = PRFS[oid];
  if (hash === undefined) return { name: nameByOid(oid) ?? 'PBKDF2', derive: undefined };
  const derive: KeyDerivation['derive'] = (password, keyBytes, budget) => {
    const rounds = smallInteger(iterations);
    budget.spend(rounds, Math.ceil(keyBytes / hash.bytes));
    return pbkdf2Sync(password, salt.contents, rounds, keyBytes, hash.digest);
  };
  return { name: `HMAC-${hash.digest.toUpperCase()}`, derive };
}

/** Returns the scrypt key derivation function. A scrypt block counts as one PBKDF2 round, because the costs are similar. */
function scrypt(salt: DerElement, [cost, block, parallel]: readonly DerElement[]): KeyDerivation['derive'] {
  return (password, keyBytes, budget) => {
    const [N, r, p] = [smallInteger(cost), smallInteger(block), smallInteger(parallel)];
    budget.spend(N * r, p);
    return scryptSync(password, salt.contents, keyBytes, { N, r, p, maxmem: MAX_SCRYPT_BYTES });
  };
}

function decipher(cipher: string, key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  if (cipher.startsWith('des-')) return tripleDes(key, iv, bytes);
  const stream = createDecipheriv(cipher, key, iv);
  return Buffer.concat([stream.update(bytes), stream.final()]);
}

function smallInteger(element: DerElement | undefined): number {
  const value =
    element?.tag === DER.integer && element.contents.length <= 6
      ? element.contents.readIntBE(0, element.contents.length)
      : 0;
  if (value < 1) throw new RangeError('not a number of iterations');
  return value;
}

/** Derives a key with RFC 7292 appendix B.2 and SHA-1. */
export function pkcs12Key(
  password: string | null,
  salt: Buffer,
  rounds: number,
  { purpose, length }: { purpose: number; length: number },
): Buffer {
  const text = password === null ? Buffer.alloc(0) : Buffer.from(`${password}\u0000`, 'utf16le').swap16();
  const fill = (part: Buffer) => Buffer.alloc(Math.ceil(part.length / 64) * 64, part);
  const input = Buffer.concat([fill(salt), fill(text)]);
  const diversifier = Buffer.alloc(64, purpose);
  const keys: Buffer[] = [];
  for (let made = 0; made < length; made += 20) {
    let hash = createHash('sha1').update(diversifier).update(input).digest();
    for (let round = 1; round < rounds; round += 1) hash = createHash('sha1').update(hash).digest();
    keys.push(hash);
    addToBlocks(input, Buffer.alloc(64, hash));
  }
  return Buffer.concat(keys).subarray(0, length);
}

/** Adds `addend` and 1 to each 64-byte block, modulo 2^512. */
function addToBlocks(input: Buffer, addend: Buffer): void {
  for (let block = 0; block < input.length; block += 64) {
    let carry = 1;
    for (let at = 63; at >= 0; at -= 1) {
      const sum = (input[block + at] ?? 0) + (addend[at] ?? 0) + carry;
      input[block + at] = sum & 0xff;
      carry = sum >> 8;
    }
  }
}
