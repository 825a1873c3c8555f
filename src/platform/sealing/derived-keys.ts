import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.js';

const KEY_BYTES = 32;

/** The present key, and then earlier ones. */
export type DerivedKeys = readonly [KeyObject, ...KeyObject[]];

/**
 * Keys for one use, derived from SVC_JWT_SECRET (HKDF, RFC 5869) and, after it, from each secret of SVC_JWT_SECRET_PREVIOUS: the first
 * makes what is new, and all of them are accepted, so that a secret can be replaced while the service runs. Key objects, since an HMAC
 * with a key of bytes takes five times as long.
 */
export function derivedKeys({ jwtSecrets }: Pick<Config, 'jwtSecrets'>, use: string): DerivedKeys {
  const [present, ...earlier] = jwtSecrets;
  const keyOf = (secret: string) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', use, KEY_BYTES)));
  return [keyOf(present), ...earlier.map(keyOf)];
}

/** Whether one of these keys made this HMAC-SHA-256, or its beginning, over the text. */
export function isMadeByOneOf(keys: readonly KeyObject[], text: string | Buffer, mac: Buffer): boolean {
  return keys.some((key) => {
    const made = createHmac('sha256', key).update(text).digest().subarray(0, mac.length);
    return made.length === mac.length && timingSafeEqual(made, mac);
  });
}
