import { createDecipheriv, createHash, pbkdf2Sync } from 'node:crypto';
import { DER, type DerElement, derElements, dotted } from '../../formats/asn1/der-reader.js';
import { rc2Decrypt, rc4 } from './old-ciphers.js';
import { Problem } from '../../platform/errors/problem.js';

/** Rounds of PBKDF2 (RFC 8018) or of RFC 7292 appendix B.2 over all parts: a few seconds of work, and more than any tool writes. */
const MAX_ROUNDS = 3_000_000;

/**
 * The rounds of key derivation that one document may cost. The document itself says how many each of its parts takes, and a store may
 * have a thousand keys with salts of their own.
 */
export class DerivationBudget {
  private left = MAX_ROUNDS;

  /**
   * Takes the rounds of one derivation before it is made. False when fewer are left, or the number is invalid: the part is then read
   * without its secrets.
   *
   * @param blocks number of hash blocks of the key, each of which costs all rounds.
   */
  take(rounds: number, blocks = 1): boolean {
    const cost = rounds * blocks;
    if (!Number.isSafeInteger(cost) || cost < 1 || cost > this.left) return false;
    this.left -= cost;
    return true;
  }

  /** As `take`, for a part that cannot be read without its secrets. @throws Problem 422 `document.too-costly` */
  spend(rounds: number, blocks = 1): void {
    if (this.take(rounds, blocks)) return;
    const detail = `asks for more than ${MAX_ROUNDS.toLocaleString('en')} rounds of password hashing in all`;
    throw new Problem('refused', 'document.too-costly', `The key store ${detail}; write it anew with fewer.`, {
      errors: [{ pointer: '', detail }],
    });
  }
}

const SHA1_BYTES = 20;
const PBES2 = '1.2.840.113549.1.5.13';

interface LegacyScheme {
  readonly name: string;
  readonly keyBytes: number;
  readonly decrypt: (key: Buffer, iv: Buffer, bytes: Buffer) => Buffer;
}

/** PKCS #12 schemes of RFC 7292 appendix C, by names that say their parts. */
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
const CIPHERS: Readonly<Record<string, { readonly name: string; readonly keyBytes: number }>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32 },
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', keyBytes: 24 },
};
const PRFS: Readonly<Record<string, { readonly digest: string; readonly bytes: number }>> = {
  '1.2.840.113549.2.7': { digest: 'sha1', bytes: SHA1_BYTES },
  '1.2.840.113549.2.9': { digest: 'sha256', bytes: 32 },
  '1.2.840.113549.2.10': { digest: 'sha384', bytes: 48 },
  '1.2.840.113549.2.11': { digest: 'sha512', bytes: 64 },
};
const SHA1_PRF = '1.2.840.113549.2.7';

/** How something is encrypted under a password. */
export interface PasswordEncryption {
  /** Names the scheme, so that rules can judge it. */
  readonly name: string;
  /**
   * Undefined when the cipher is one that is not read. Throws when the password is wrong, or Problem when it costs too much. PKCS #12 knows
   * no password (null) beside an empty one.
   */
  readonly decrypt: ((bytes: Buffer, password: string | null, budget: DerivationBudget) => Buffer) | undefined;
}

/** Reads an AlgorithmIdentifier (its whole element): PBES2 (RFC 8018) or a scheme of PKCS #12. */
export function passwordEncryption(algorithm: Buffer): PasswordEncryption {
  const [id, parameters] = members(algorithm);
  const oid = id === undefined ? '' : dotted(id.contents);
  const [first, second] = parameters === undefined ? [] : derElements(parameters.contents);
  if (oid === PBES2 && first !== undefined && second !== undefined) return pbes2(first, second);
  const scheme = LEGACY[oid];
  if (scheme === undefined || first === undefined)
    return { name: scheme?.name ?? `encrypted as ${oid}`, decrypt: undefined };
  const rounds = smallInteger(second);
  const decrypt: PasswordEncryption['decrypt'] = (bytes, password, budget) => {
    budget.spend(rounds, Math.ceil(scheme.keyBytes / SHA1_BYTES) + 1);
    const derive = (purpose: number, length: number) =>
      pkcs12Key(password, first.contents, rounds, { purpose, length });
    return scheme.decrypt(derive(1, scheme.keyBytes), derive(2, 8), bytes);
  };
  return { name: scheme.name, decrypt };
}

/** Triple DES with two keys: the third is the first. */
function tripleDes(key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  return decipher('des-ede3-cbc', key.length === 24 ? key : Buffer.concat([key, key.subarray(0, 8)]), iv, bytes);
}

function pbes2(derivation: DerElement, encryption: DerElement): PasswordEncryption {
  const [, kdf] = derElements(derivation.contents);
  const [cipherId, iv] = derElements(encryption.contents);
  const cipher = CIPHERS[cipherId === undefined ? '' : dotted(cipherId.contents)];
  const [salt, iterations, ...rest] = kdf === undefined ? [] : derElements(kdf.contents);
  const prfId = rest.find(({ tag }) => tag === DER.sequence);
  const [prf] = prfId === undefined ? [] : derElements(prfId.contents);
  const hash = PRFS[prf === undefined ? SHA1_PRF : dotted(prf.contents)];
  if (cipher === undefined || hash === undefined || salt === undefined || iv === undefined)
    return { name: 'PBES2', decrypt: undefined };
  const { digest, bytes: hashBytes } = hash;
  const decrypt: PasswordEncryption['decrypt'] = (bytes, password, budget) => {
    const rounds = smallInteger(iterations);
    budget.spend(rounds, Math.ceil(cipher.keyBytes / hashBytes));
    const key = pbkdf2Sync(password ?? '', salt.contents, rounds, cipher.keyBytes, digest);
    return decipher(cipher.name, key, iv.contents, bytes);
  };
  return { name: `PBES2-HMAC-${digest.toUpperCase()}-${cipher.name.toUpperCase()}`, decrypt };
}

function decipher(cipher: string, key: Buffer, iv: Buffer, bytes: Buffer): Buffer {
  const stream = createDecipheriv(cipher, key, iv);
  return Buffer.concat([stream.update(bytes), stream.final()]);
}

function members(sequence: Buffer): DerElement[] {
  const [element] = derElements(sequence);
  return element === undefined ? [] : derElements(element.contents);
}

function smallInteger(element: DerElement | undefined): number {
  const value =
    element?.tag === DER.integer && element.contents.length <= 6
      ? element.contents.readIntBE(0, element.contents.length)
      : 0;
  if (value < 1) throw new RangeError('no number of iterations');
  return value;
}

/** RFC 7292 appendix B.2 with SHA-1. */
function pkcs12Key(
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

/** Each block of 64 bytes becomes itself plus `addend` plus 1, modulo 2^512. */
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
