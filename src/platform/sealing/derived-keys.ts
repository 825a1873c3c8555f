import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.js';

const KEY_BYTES = 32;

/** Current key, followed by earlier keys. */
export type DerivedKeys = readonly [KeyObject, ...KeyObject[]];

/**
 * derivedKeys derives keys for one use (HKDF, RFC 5869) from SVC_JWT_SECRET and from each secret in SVC_JWT_SECRET_PREVIOUS. New data uses the first key,
 * and all keys are accepted, so that the secret can be replaced at runtime. The result contains key objects, because an HMAC with a key in bytes takes five
 * times as long.
 */
export function derivedKeys({ jwtSecrets }: Pick<Config, 'jwtSecrets'>, use: string): DerivedKeys {
  const [present, ...earlier] = jwtSecrets;
  const keyOf = (secret: string) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', use, KEY_BYTES)));
  return [keyOf(present), ...earlier.map(keyOf)];
}

/** isMadeByOneOf returns true if one of the keys produced this HMAC-SHA-256 over the text. The HMAC may be truncated. */
export function isMadeByOneOf(keys: readonly KeyObject[], text: string | Buffer, mac: Buffer): boolean {
  return keys.some((key) => {
    const made = createHmac('sha256', key).update(text).digest().subarray(0, mac.length);
    return made.length === mac.length && timingSafeEqual(made, mac);
  });
}
