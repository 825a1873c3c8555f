import { bitString, integer, nullValue, octetString, oid, sequence } from '../../formats/asn1/der-writer.js';
import { bitStringOf, elementsOfSequence, octetsOf } from '../../formats/asn1/der-reader.js';
import { CURVE_BYTES, type CurveType } from './ecdsa.js';

/** First octet of an uncompressed point (SEC 1 section 2.3.3). */
const UNCOMPRESSED = 0x04;

/** rsaEncryption (RFC 8017) and id-ecPublicKey (RFC 5480). */
const RSA_ENCRYPTION = oid('1.2.840.113549.1.1.1');
const EC_PUBLIC_KEY = oid('1.2.840.10045.2.1');

/** CKA_EC_PARAMS by curve: the DER-encoded OBJECT IDENTIFIER of the curve. */
export const CURVE_PARAMS: Record<CurveType, Buffer> = {
  'ec-p256': oid('1.2.840.10045.3.1.7'),
  'ec-p384': oid('1.3.132.0.34'),
  'ec-p521': oid('1.3.132.0.35'),
};

/** Returns the SubjectPublicKeyInfo for CKA_MODULUS and CKA_PUBLIC_EXPONENT (unsigned, big-endian). */
export function rsaPublicKeyInfo(modulus: Buffer, publicExponent: Buffer): Buffer {
  const key = sequence(integer(modulus), integer(publicExponent));
  return sequence(sequence(RSA_ENCRYPTION, nullValue), bitString(key));
}

/** Returns the SubjectPublicKeyInfo for CKA_EC_POINT, which is the point in an OCTET STRING. Some tokens omit the OCTET STRING. */
export function ecPublicKeyInfo(curve: CurveType, ecPoint: Buffer): Buffer {
  return sequence(sequence(EC_PUBLIC_KEY, CURVE_PARAMS[curve]), bitString(bareEcPoint(curve, ecPoint)));
}

/** Returns the CKA_EC_POINT for a stored SubjectPublicKeyInfo: the point in an OCTET STRING. Throws RangeError for any other key. */
export function ecPointOf(curve: CurveType, publicKeyInfo: Buffer): Buffer {
  const [algorithm, key] = elementsOfSequence(publicKeyInfo);
  const expected = Buffer.concat([EC_PUBLIC_KEY, CURVE_PARAMS[curve]]);
  if (!algorithm?.contents.equals(expected) || key === undefined) throw new RangeError(`not a public key on ${curve}`);
  return octetString(bareEcPoint(curve, bitStringOf(key)));
}

function bareEcPoint(curve: CurveType, ecPoint: Buffer): Buffer {
  const size = 1 + 2 * CURVE_BYTES[curve];
  const point = ecPoint.length === size ? ecPoint : octetsOf(ecPoint);
  if (point.length !== size || point[0] !== UNCOMPRESSED) throw new RangeError(`not an uncompressed point on ${curve}`);
  return point;
}
