import { createHash, randomBytes } from 'node:crypto';

/** What a secret is for; part of its text, so that scanners and readers of logs know what they see. */
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

/** SHA-256: what is stored instead of the secret. */
export function secretHashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
