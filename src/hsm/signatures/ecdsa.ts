import type { KeyType } from '../key-vault.js';
import { integer, sequence } from '../../formats/asn1/der-writer.js';
import { elementsOfSequence, unsignedOf } from '../../formats/asn1/der-reader.js';

/** Length in bytes of one coordinate and of the group order, per curve (SEC 2). */
export const CURVE_BYTES = { 'ec-p256': 32, 'ec-p384': 48, 'ec-p521': 66 } as const;
export type CurveType = keyof typeof CURVE_BYTES;

export function isCurve(type: KeyType): type is CurveType {
  return type in CURVE_BYTES;
}

/**
 * Truncates the digest to the bit length of the group order (FIPS 186-5 section 6.4.1). The orders of P-256 and P-384 have a whole number of bytes, and no
 * digest is longer than the order of P-521, so truncating whole bytes is exact. Some tokens truncate the digest themselves; other tokens return
 * CKR_DATA_LEN_RANGE.
 */
export function leftmostBits(digest: Buffer, curve: CurveType): Buffer {
  return digest.length > CURVE_BYTES[curve] ? digest.subarray(0, CURVE_BYTES[curve]) : digest;
}

/** Converts r‖s of fixed length (IEEE P1363, PKCS #11 section 2.3.1) to SEQUENCE { r INTEGER, s INTEGER } (RFC 3279 section 2.2.3). */
export function rawToDer(raw: Buffer): Buffer {
  if (raw.length === 0 || raw.length % 2 !== 0) throw new RangeError('r‖s must have an even length');
  const half = raw.length / 2;
  return sequence(integer(raw.subarray(0, half)), integer(raw.subarray(half)));
}

/**
 * Converts SEQUENCE { r INTEGER, s INTEGER } to r‖s. Throws RangeError if the input is not DER or does not fit the curve. BER encodings that are not DER, such
 * as a length with unnecessary octets, are rejected, because accepting them would make signatures malleable.
 */
export function derToRaw(der: Buffer, curve: CurveType): Buffer {
  const size = CURVE_BYTES[curve];
  const elements = elementsOfSequence(der);
  if (elements.length !== 2) throw new RangeError('an ECDSA signature must contain two INTEGERs');
  const raw = Buffer.alloc(size * 2);
  elements.forEach((element, index) => {
    const number = unsignedOf(element);
    if (number.length > size) throw new RangeError('INTEGER is longer than the curve allows');
    number.copy(raw, (index + 1) * size - number.length);
  });
  if (!rawToDer(raw).equals(der)) throw new RangeError('an ECDSA signature must be DER');
  return raw;
}
