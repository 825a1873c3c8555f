import type { KeyObject } from 'node:crypto';

/** Keys of 16,384 bits, which OpenSSL takes, cost as much as a hundred of 2,048. */
const MAX_MODULUS_BITS = 8192;
/**
 * Public exponents are 3, 65537 and the like. RFC 8017 allows one as long as the modulus, and OpenSSL takes that up to 3,072 bits: whoever
 * makes such a key has each verification cost as much as a private operation without its short cuts.
 */
const MAX_EXPONENT = 2n ** 32n;

/**
 * Whether verifying a signature by this key costs far more than by an honest one. To be asked of every key that a stranger chose, before
 * anything is verified with it: they choose the cost as well.
 */
export function isCostlyKey({ asymmetricKeyDetails: details = {} }: Pick<KeyObject, 'asymmetricKeyDetails'>): boolean {
  const { modulusLength = 0, publicExponent = 0n } = details;
  return modulusLength > MAX_MODULUS_BITS || publicExponent > MAX_EXPONENT;
}

/** The key, unless it is such a one. @throws RangeError */
export function affordable(key: KeyObject): KeyObject {
  if (!isCostlyKey(key)) return key;
  const { modulusLength, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  const bits = publicExponent.toString(2).length;
  throw new RangeError(
    `its key costs too much: ${modulusLength} bits, with a public exponent of ${bits} bits; ${MAX_MODULUS_BITS} and 32 are the most`,
  );
}
