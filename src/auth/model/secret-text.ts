import { createHash, randomBytes } from 'node:crypto';

/** Kind of a secret. It is part of the text, so that secret scanners and readers of logs recognise it. */
export type SecretKind = 'refresh' | 'client' | 'device' | 'mail' | 'session' | 'browser';

export interface SecretText {
  /** `sw_<kind>_<256 random bits in hex>`. Shown once. */
  readonly text: string;
  readonly hash: Buffer;
}

/** A new opaque secret. 256 random bits need no slow hash. */
export function newSecret(kind: SecretKind): SecretText {
  const text = `sw_${kind}_${randomBytes(32).toString('hex')}`;
  return { text, hash: secretHashOf(text) };
}

/** SHA-256 of a secret, which is stored instead of it. */
export function secretHashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
