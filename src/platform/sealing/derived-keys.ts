import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.js';

const KEY_BYTES = 32;

/**
 * Keys for one use, derived from SVC_JWT_SECRET (HKDF, RFC 5869) and, after it, from each secret of SVC_JWT_SECRET_PREVIOUS: the first
 * makes what is new, and all of them are accepted, so that a secret can be replaced while the service runs.
 */
export function derivedKeys({ jwtSecrets }: Pick<Config, 'jwtSecrets'>, use: string): readonly [Buffer, ...Buffer[]] {
  const [present, ...earlier] = jwtSecrets;
  const keyOf = (secret: string) => Buffer.from(hkdfSync('sha256', secret, '', use, KEY_BYTES));
  return [keyOf(present), ...earlier.map(keyOf)];
}

/** Whether one of these keys made this HMAC-SHA-256, or its beginning, over the text. */
export function isMadeByOneOf(keys: readonly Buffer[], text: string | Buffer, mac: Buffer): boolean {
  return keys.some((key) => {
    const made = createHmac('sha256', key).update(text).digest().subarray(0, mac.length);
    return made.length === mac.length && timingSafeEqual(made, mac);
  });
}
