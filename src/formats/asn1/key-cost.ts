import { createPrivateKey, type KeyObject } from 'node:crypto';
import { DER, elementsInside, firstElement } from './der-reader.js';

/** OpenSSL accepts 16,384-bit keys, but verification with these keys costs a hundred times as much as with 2,048-bit keys. */
const MAX_MODULUS_BITS = 8192;
/**
 * Common public exponents are 3 and 65537. RFC 8017 allows exponents as long as the modulus, and OpenSSL accepts exponents of up to 3,072 bits. With a long
 * exponent, each verification costs as much as an unoptimized private-key operation.
 */
const MAX_EXPONENT = 2n ** 32n;

/**
 * Reports whether verification with this key costs far more than with a normal key. Check every key chosen by an untrusted party before verifying
 * with it, because that party also chooses the cost.
 */
export function isCostlyKey({ asymmetricKeyDetails: details = {} }: Pick<KeyObject, 'asymmetricKeyDetails'>): boolean {
  const { modulusLength = 0, publicExponent = 0n } = details;
  return modulusLength > MAX_MODULUS_BITS || publicExponent > MAX_EXPONENT;
}

/**
 * Returns the key if the cost of verification with the key is acceptable.
 *
 * @throws RangeError if verification is too costly
 */
export function affordable(key: KeyObject): KeyObject {
  if (!isCostlyKey(key)) return key;
  const { modulusLength, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  const bits = publicExponent.toString(2).length;
  throw new RangeError(
    `its RSA key exceeds the limits: ${modulusLength} bits (maximum ${MAX_MODULUS_BITS}) and a public exponent of ${bits} bits (maximum 32)`,
  );
}

/** MAX_PRIVATE_KEY_OCTETS is enough for a 16,384-bit RSA key, the longest that OpenSSL supports. */
export const MAX_PRIVATE_KEY_OCTETS = 10_240;
/** Maximum length of an AlgorithmIdentifier with RSA-PSS parameters, a named curve or no parameters. */
const SHORT_IDENTIFIER_OCTETS = 256;
/** Maximum length of a key with long parameters. 4,096-bit DSA keys and EC keys with explicit curve parameters are shorter. */
const MAX_OCTETS_WITH_PARAMETERS = 1280;

/**
 * Parses a private key in PKCS #8, PKCS #1 or SEC 1 format. OpenSSL computes the public half of a DSA or Diffie-Hellman key (g^x mod p) in one call that
 * cannot be interrupted, for numbers of any size. Therefore, the length of a key with long parameters is limited. Use this function for every private key
 * chosen by an untrusted party.
 *
 * @throws RangeError if the key is too large, Error if the bytes are not a private key
 */
export function affordablePrivateKey(der: Buffer, types: readonly PrivateKeyType[] = PRIVATE_KEY_TYPES): KeyObject {
  const [version, algorithm] = elementsInside(firstElement(der));
  if (version?.tag !== DER.integer) throw new RangeError('not a private key');
  const hasParameters = algorithm?.tag === DER.sequence && algorithm.raw.length > SHORT_IDENTIFIER_OCTETS;
  const most = hasParameters ? MAX_OCTETS_WITH_PARAMETERS : MAX_PRIVATE_KEY_OCTETS;
  if (der.length > most) throw new RangeError(`the private key has ${der.length} bytes; the maximum is ${most}`);
  for (const type of types)
    try {
      return createPrivateKey({ key: der, format: 'der', type });
    } catch {
      // Try the next type.
    }
  throw new RangeError('not a private key');
}

type PrivateKeyType = 'pkcs8' | 'pkcs1' | 'sec1';
const PRIVATE_KEY_TYPES: readonly PrivateKeyType[] = ['pkcs8', 'pkcs1', 'sec1'];
