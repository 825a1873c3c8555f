import { createHash, randomBytes } from 'node:crypto';

/** Kind of secret. The kind is part of the string, so that secret scanners and people who read logs recognize the secret. */
export type SecretKind = 'refresh' | 'client' | 'device' | 'mail' | 'session' | 'browser';

export interface SecretText {
  /** `sw_<kind>_<256 random bits in hex>`. Shown once. */
  readonly text: string;
  readonly hash: Buffer;
}

/** Returns a new opaque secret. 256 random bits do not need a slow hash. */
export function newSecret(kind: SecretKind): SecretText {
  const text = `sw_${kind}_${randomBytes(32).toString('hex')}`;
  return { text, hash: secretHashOf(text) };
}

/** Returns the SHA-256 of a secret, which is stored instead of the secret. */
export function secretHashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
