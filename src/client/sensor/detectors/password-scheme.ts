import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { type WindowElement, member, members, TAG, there } from '../model/der.js';

const PBES2 = '1.2.840.113549.1.5.13';
const PBKDF2 = '1.2.840.113549.1.5.12';
/** Rounds of password hashing for all parts of a store and all passwords together: a few seconds. */
const MAX_ROUNDS = 3_000_000;
const CIPHERS: Readonly<Record<string, readonly [string, number]>> = {
  '2.16.840.1.101.3.4.1.2': ['aes-128-cbc', 16],
  '2.16.840.1.101.3.4.1.22': ['aes-192-cbc', 24],
  '2.16.840.1.101.3.4.1.42': ['aes-256-cbc', 32],
  '1.2.840.113549.3.7': ['des-ede3-cbc', 24],
};
const PRFS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
};
/** RFC 7292 appendix C and RFC 8018 appendix A, by names that say their parts. */
const OLD: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.12.1.1': 'PBEWithSHA1AndRC4_128',
  '1.2.840.113549.1.12.1.2': 'PBEWithSHA1AndRC4_40',
  '1.2.840.113549.1.12.1.3': 'PBEWithSHA1AndDESede',
  '1.2.840.113549.1.12.1.4': 'PBEWithSHA1AndDESede',
  '1.2.840.113549.1.12.1.5': 'PBEWithSHA1AndRC2_128',
  '1.2.840.113549.1.12.1.6': 'PBEWithSHA1AndRC2_40',
  '1.2.840.113549.1.5.3': 'PBEWithMD5AndDES',
};

interface Pbes2 {
  readonly cipher: string;
  readonly keyBytes: number;
  readonly digest: string;
  readonly salt: Buffer;
  readonly rounds: number;
  readonly iv: Buffer;
}

/** Names a password-based encryption so that rules can judge it. */
export function schemeName(algorithm: WindowElement): string {
  const oid = algorithm.children()[0]?.oid() ?? '';
  if (oid !== PBES2) return OLD[oid] ?? `encrypted as ${oid}`;
  const parts = pbes2(algorithm);
  return parts === undefined ? 'PBES2' : `PBES2-HMAC-${parts.digest.toUpperCase()}-${parts.cipher.toUpperCase()}`;
}

/** Iterations that may still be spent on the passwords of one key store, which itself sets how many each costs. */
export class RoundsLeft {
  private left = MAX_ROUNDS;

  spend(rounds: number): boolean {
    this.left -= rounds;
    return this.left >= 0;
  }
}

/** Opens certificates that are encrypted under a password. Undefined when it is another password, one too many, or a scheme that is not read. */
export function opened(
  algorithm: WindowElement,
  sealed: Buffer,
  password: string,
  rounds: RoundsLeft,
): Buffer | undefined {
  const parts = algorithm.children()[0]?.oid() === PBES2 ? pbes2(algorithm) : undefined;
  if (parts === undefined || !rounds.spend(parts.rounds)) return undefined;
  try {
    const key = pbkdf2Sync(password, parts.salt, parts.rounds, parts.keyBytes, parts.digest);
    const stream = createDecipheriv(parts.cipher, key, parts.iv);
    return Buffer.concat([stream.update(sealed), stream.final()]);
  } catch {
    return undefined;
  }
}

/** RFC 8018 appendix A.4. RangeError when a part is missing. */
function pbes2(algorithm: WindowElement): Pbes2 | undefined {
  const [derivation, encryption] = members(member(algorithm, 1));
  const [kdf, settings] = members(derivation);
  const [cipherId, iv] = members(encryption);
  const [salt, rounds, ...rest] = members(settings);
  const prf = rest.find(({ tag }) => tag === TAG.sequence);
  const [cipher, keyBytes] = CIPHERS[there(cipherId).oid()] ?? [];
  const digest = prf === undefined ? 'sha1' : PRFS[member(prf, 0).oid()];
  if (there(kdf).oid() !== PBKDF2 || cipher === undefined || keyBytes === undefined || digest === undefined)
    return undefined;
  return {
    cipher,
    keyBytes,
    digest,
    salt: there(salt).contents(),
    rounds: there(rounds).small(),
    iv: there(iv).contents(),
  };
}
