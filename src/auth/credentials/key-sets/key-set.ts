import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { isCostlyKey } from '../../../formats/asn1/key-cost.js';
import { jwkThumbprint, type PublicJwk } from '../../../formats/encoding/json-web-key.js';

/** Maximum size of a key set's JSON, in bytes. */
export const MAX_KEY_SET_BYTES = 64 * 1024;

/** MAX_KEYS is the maximum number of keys in a set. The maximum limits the cost of a verification that tries every key. */
export const MAX_KEYS = 50;
const MIN_RSA_BITS = 2048;
/** Values of `use` for keys that verify JWTs, in JWK Sets (RFC 7517 section 4.2) and in SPIFFE trust bundles (`x509-svid` keys verify certificates). */
const USES: ReadonlySet<unknown> = new Set([undefined, 'sig', 'jwt-svid']);
const PUBLIC_MEMBERS = ['kty', 'kid', 'alg', 'crv', 'n', 'e', 'x', 'y'] as const;
/** Members of private and of symmetric keys (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const;

/**
 * Reads a JWK Set (RFC 7517 section 5) and returns the public keys that verify signatures. Encryption keys, symmetric keys, RSA keys under 2048 bits, keys that
 * are too expensive to verify with, and keys of unknown types are skipped, because issuers publish all kinds of keys.
 *
 * @throws Error with the reason if the value is not a JWK Set, has no usable key, or has too many keys.
 */
export function readKeySet(read: unknown): PublicJwk[] {
  const keys = typeof read === 'object' && read !== null ? (read as { keys?: unknown }).keys : undefined;
  if (!Array.isArray(keys)) throw new Error('not a JWK Set, because the "keys" array is missing');
  if (keys.length > MAX_KEYS) throw new Error(`the JWK Set has ${keys.length} keys; the maximum is ${MAX_KEYS}`);
  const usable = keys.flatMap((key: unknown) => usableKey(key) ?? []);
  if (usable.length === 0) throw new Error('the JWK Set has no key that can verify signatures');
  return usable;
}

/** Reads a JWK Set that a caller uploads. @throws Error as for readKeySet, and if the set contains a private or symmetric key */
export function readGivenKeySet(jwks: object): PublicJwk[] {
  if (hasSecretKey(jwks)) throw new Error('the JWK Set contains a private or symmetric key; send only public keys');
  return readKeySet(jwks);
}

/** Reports whether a JWK Set contains a private or symmetric key. */
export function hasSecretKey(read: unknown): boolean {
  const keys = typeof read === 'object' && read !== null ? (read as { keys?: unknown }).keys : undefined;
  if (!Array.isArray(keys)) return false;
  return keys.some((key: unknown) => isObject(key) && SECRET_MEMBERS.some((name) => Object.hasOwn(key, name)));
}

/** Returns the thumbprints of the keys (RFC 7638), in order. */
export function thumbprintsOf(keys: readonly PublicJwk[]): string[] {
  return keys.flatMap((key) => jwkThumbprint(key) ?? []).sort();
}

/** Reports whether verification with a valid key is too expensive. */
export function isCostlyJwk(key: unknown): boolean {
  try {
    return isCostlyKey(createPublicKey({ key: key as JsonWebKey, format: 'jwk' }));
  } catch {
    return false;
  }
}

function usableKey(key: unknown): PublicJwk | undefined {
  if (!isObject(key) || !USES.has(key['use'])) return undefined;
  const entries = PUBLIC_MEMBERS.flatMap((name) => (typeof key[name] === 'string' ? [[name, key[name]] as const] : []));
  const jwk = Object.fromEntries(entries) as unknown as PublicJwk;
  if (jwkThumbprint(jwk) === undefined) return undefined;
  try {
    const publicKey = createPublicKey({ key: jwk as unknown as JsonWebKey, format: 'jwk' });
    const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
    const isWeak = asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS;
    return isWeak || isCostlyKey(publicKey) ? undefined : jwk;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
