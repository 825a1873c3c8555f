import { bitString, readBitString, readSequence, readTlv, sequence, tlv, unsignedInteger } from './der.js';
import { CURVE_BYTES, type CurveType } from './ecdsa.js';

const NULL = Buffer.from('0500', 'hex');
const OCTET_STRING = 0x04;
/** First octet of a point that is given by both coordinates (SEC 1 section 2.3.3). */
const UNCOMPRESSED = 0x04;

/** OBJECT IDENTIFIERs, DER: rsaEncryption (RFC 8017), id-ecPublicKey and the named curves (RFC 5480). */
const RSA_ENCRYPTION = Buffer.from('06092a864886f70d010101', 'hex');
const EC_PUBLIC_KEY = Buffer.from('06072a8648ce3d0201', 'hex');

/** CKA_EC_PARAMS of the curves: the curve's OBJECT IDENTIFIER, DER. */
export const CURVE_PARAMS: Record<CurveType, Buffer> = {
  'ec-p256': Buffer.from('06082a8648ce3d030107', 'hex'),
  'ec-p384': Buffer.from('06052b81040022', 'hex'),
  'ec-p521': Buffer.from('06052b81040023', 'hex'),
};

/** SubjectPublicKeyInfo of CKA_MODULUS and CKA_PUBLIC_EXPONENT (unsigned big-endian). */
export function rsaPublicKeyInfo(modulus: Buffer, publicExponent: Buffer): Buffer {
  const key = sequence(unsignedInteger(modulus), unsignedInteger(publicExponent));
  return sequence(sequence(RSA_ENCRYPTION, NULL), bitString(key));
}

/** SubjectPublicKeyInfo of CKA_EC_POINT, which is the point in an OCTET STRING; some tokens leave the wrapper out. */
export function ecPublicKeyInfo(curve: CurveType, ecPoint: Buffer): Buffer {
  return sequence(sequence(EC_PUBLIC_KEY, CURVE_PARAMS[curve]), bitString(bareEcPoint(curve, ecPoint)));
}

/** CKA_EC_POINT for a stored SubjectPublicKeyInfo: the point in its OCTET STRING. Throws RangeError on another key. */
export function ecPointOf(curve: CurveType, publicKeyInfo: Buffer): Buffer {
  const [algorithm, key] = readSequence(publicKeyInfo);
  const expected = Buffer.concat([EC_PUBLIC_KEY, CURVE_PARAMS[curve]]);
  if (!algorithm?.contents.equals(expected) || key === undefined) throw new RangeError(`not a public key on ${curve}`);
  return tlv(OCTET_STRING, bareEcPoint(curve, readBitString(key)));
}

function bareEcPoint(curve: CurveType, ecPoint: Buffer): Buffer {
  const size = 1 + 2 * CURVE_BYTES[curve];
  const point = ecPoint.length === size ? ecPoint : octetsOf(ecPoint);
  if (point.length !== size || point[0] !== UNCOMPRESSED) throw new RangeError(`not an uncompressed point on ${curve}`);
  return point;
}

function octetsOf(element: Buffer): Buffer {
  const { tag, contents, size } = readTlv(element);
  if (tag !== OCTET_STRING || size !== element.length) throw new RangeError('not an OCTET STRING');
  return contents;
}
