import { createHash } from 'node:crypto';
import type { DigestAlgorithm, KeyType, SignatureScheme } from '../../src/hsm/key-vault.js';
import type { Random } from './random.js';

/** Signing key that requires approval. */
export const GUARDED_KEY = 'proof-guarded';

/** Keys used by the run in addition to those of the demo seed (`default`, ec-p256, and `demo-rsa`, rsa-3072). */
export const OWN_KEYS: readonly { readonly name: string; readonly type: KeyType }[] = [
  { name: 'proof-p256', type: 'ec-p256' },
  { name: 'proof-p384', type: 'ec-p384' },
  { name: 'proof-p521', type: 'ec-p521' },
  { name: 'proof-rsa', type: 'rsa-2048' },
  { name: GUARDED_KEY, type: 'ec-p256' },
];

/** The keys of the intents, repeated according to their share. Most of the keys are EC keys. */
const KEY_SHARES = [
  ...Array.from({ length: 10 }, () => 'default'),
  ...Array.from({ length: 4 }, () => 'proof-p256'),
  'proof-p384',
  'proof-p384',
  'proof-p521',
  'proof-rsa',
  'proof-rsa',
  'demo-rsa',
  GUARDED_KEY,
  GUARDED_KEY,
];
const EC_SCHEMES = ['ecdsa-der', 'ecdsa-raw'] as const;
const RSA_SCHEMES = ['rsa-pkcs1v15', 'rsa-pss'] as const;
const SHA2 = ['sha256', 'sha384', 'sha512'] as const;
const ALL = [...SHA2, 'sha3-256', 'sha3-384', 'sha3-512'] as const;

/** A signature that a client requests once, retrying as often as necessary. */
export interface Intent {
  /** `reference` and Idempotency-Key of the request. */
  readonly name: string;
  /** Milliseconds after the load began. */
  readonly at: number;
  readonly key: string;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  readonly message: Buffer;
  readonly digest: Buffer;
  readonly background: boolean;
  /** `at-once`: the request is sent twice at the same time; `later`: the request is sent again after the response. */
  readonly repeat: 'none' | 'at-once' | 'later';
  /** Digest for which the same Idempotency-Key is reused afterwards, which must be refused. */
  readonly otherDigest: Buffer | undefined;
  /** Whether the client waits for the outcome of background work with GET ?wait=. */
  readonly follows: boolean;
}

export function drawIntents(random: Random, seconds: number, rate: number): Intent[] {
  return Array.from({ length: Math.round(seconds * rate) }, (_, index) => {
    const key = random.pick(KEY_SHARES);
    const rsa = key.endsWith('rsa');
    const scheme = random.pick<SignatureScheme>(rsa ? RSA_SCHEMES : EC_SCHEMES);
    // For PSS with SHA-3, SoftHSM receives the whole padded block, which does not reveal the digest.
    const algorithm = random.pick<DigestAlgorithm>(scheme === 'rsa-pss' ? SHA2 : ALL);
    const message = random.bytes(64);
    return {
      name: `proof-${index + 1}`,
      at: (index / rate) * 1000 + random.between(0, 1000 / rate),
      key,
      scheme,
      algorithm,
      message,
      digest: createHash(algorithm).update(message).digest(),
      background: random.chance(0.5),
      repeat: random.chance(0.06) ? 'at-once' : random.chance(0.06) ? 'later' : 'none',
      otherDigest: random.chance(0.04) ? createHash(algorithm).update(random.bytes(64)).digest() : undefined,
      follows: random.chance(0.2),
    };
  });
}
