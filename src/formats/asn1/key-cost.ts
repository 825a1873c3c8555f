import { createPrivateKey, type KeyObject } from 'node:crypto';
import { DER, elementsInside, firstElement } from './der-reader.js';

/** Keys of 16,384 bits, which OpenSSL accepts, cost a hundred times as much as keys of 2,048 bits. */
const MAX_MODULUS_BITS = 8192;
/**
 * Usual public exponents are 3 and 65537. RFC 8017 allows exponents as long as the modulus, and OpenSSL accepts them up to 3,072 bits. With a long exponent,
 * each verification costs as much as an unoptimized private operation.
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
 * Returns the key if verification with it is affordable.
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

/** MAX_PRIVATE_KEY_OCTETS is enough for an RSA key of 16,384 bits, the longest that OpenSSL uses. */
export const MAX_PRIVATE_KEY_OCTETS = 10_240;
/** Maximum length of an AlgorithmIdentifier with RSA-PSS parameters, a named curve or no parameters. */
const SHORT_IDENTIFIER_OCTETS = 256;
/** Maximum length of a key with long parameters. A DSA key of 4,096 bits and a key on a curve with explicit parameters are shorter. */
const MAX_OCTETS_WITH_PARAMETERS = 1280;

/**
 * Returns the private key in PKCS #8, PKCS #1 or SEC 1. OpenSSL computes the public half of a DSA or Diffie-Hellman key (g^x mod p) in one call that
 * cannot be interrupted, for numbers of any size. Therefore a key with long parameters must be short. Use this function for every private key chosen
 * by an untrusted party.
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
