import { constants, createPublicKey, type KeyObject, publicDecrypt, verify } from 'node:crypto';
import { digestInfo } from '../formats/asn1/digest-info.js';
import { base64UrlBytes } from '../formats/encoding/base64.js';
import { digestContext } from '../formats/pkcs/digest-context.js';

interface Curve {
  /** Prime of the field (SP 800-186). Coefficient a of the curve is p − 3. */
  readonly p: bigint;
  /** Order of the base point. */
  readonly n: bigint;
  readonly base: Point;
}
type Point = readonly [x: bigint, y: bigint] | undefined;

const CURVES: Readonly<Record<string, Curve>> = {
  'P-256': {
    p: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
    n: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
    base: [
      0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
      0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
    ],
  },
  'P-384': {
    p: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
    n: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
    base: [
      0xaa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7n,
      0x3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5fn,
    ],
  },
  'P-521': {
    p: 2n ** 521n - 1n,
    n: 0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
    base: [
      0x00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66n,
      0x011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650n,
    ],
  },
};

export interface DigestSignature {
  /** Name of the digest algorithm, such as `sha256`. */
  readonly algorithm: string;
  readonly scheme: string;
  readonly digest: Buffer;
  readonly signature: Buffer;
}

/**
 * Verifies a signature over a raw digest, without the file. Node cannot verify ECDSA over a digest, so the equation of FIPS 186-5 section 6.4.2 is
 * computed in JavaScript, with public values only.
 *
 * @param publicKey PEM
 * @returns undefined for a scheme that this function does not support, such as RSASSA-PSS
 */
export function verifiesDigest(publicKey: string, signed: DigestSignature): boolean | undefined {
  const key = createPublicKey(publicKey);
  switch (signed.scheme) {
    case 'ml-dsa':
      return verifiesMlDsa(key, signed);
    case 'rsa-pkcs1v15':
      return verifiesRsa(key, signed);
    case 'ecdsa-der':
    case 'ecdsa-raw':
      return verifiesEcdsa(key, signed);
    default:
      return undefined;
  }
}

/** Verifies an ML-DSA signature over a digest. Earlier versions of the service signed digests with an empty context. */
export function verifiesMlDsa(
  key: KeyObject,
  { algorithm, digest, signature }: Omit<DigestSignature, 'scheme'>,
): boolean {
  const isBound = verify(null, digest, { key, context: digestContext(algorithm) }, signature);
  return isBound || verify(null, digest, key, signature);
}

function verifiesRsa(key: KeyObject, { algorithm, digest, signature }: DigestSignature): boolean {
  // RFC 8017 section 8.2.2 step 1. publicDecrypt accepts a signature without its leading zeros.
  if (signature.length !== Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)) return false;
  try {
    const info = publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, signature);
    return info.equals(digestInfo(algorithm as Parameters<typeof digestInfo>[0], digest));
  } catch {
    return false;
  }
}

function verifiesEcdsa(key: KeyObject, { scheme, digest, signature }: DigestSignature): boolean {
  const { crv = '', x = '', y = '' } = key.export({ format: 'jwk' });
  const curve = CURVES[crv];
  const bytes = Math.ceil((key.asymmetricKeyDetails?.namedCurve === 'secp521r1' ? 521 : Number(crv.slice(2))) / 8);
  const parts = scheme === 'ecdsa-der' ? integersOf(signature) : halvesOf(signature, bytes);
  if (curve === undefined || parts === undefined) return false;
  const [r, s] = parts;
  const { n, base } = curve;
  if (r <= 0n || r >= n || s <= 0n || s >= n) return false;
  const bits = BigInt(n.toString(2).length);
  const excess = BigInt(digest.length * 8) - bits;
  const hash = excess > 0n ? numberOf(digest) >> excess : numberOf(digest);
  const inverse = inverseOf(s, n);
  const point: Point = [numberOf(base64UrlBytes(x)), numberOf(base64UrlBytes(y))];
  const sum = added(multiplied(base, (hash * inverse) % n, curve), multiplied(point, (r * inverse) % n, curve), curve);
  return sum !== undefined && sum[0] % n === r;
}

function multiplied(point: Point, factor: bigint, curve: Curve): Point {
  let [sum, power]: [Point, Point] = [undefined, point];
  for (let rest = factor; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) sum = added(sum, power, curve);
    power = added(power, power, curve);
  }
  return sum;
}

/** Adds two points. Undefined represents the point at infinity. */
function added(one: Point, other: Point, { p }: Curve): Point {
  if (one === undefined) return other;
  if (other === undefined) return one;
  const [[x1, y1], [x2, y2]] = [one, other];
  if (x1 === x2 && modulo(y1 + y2, p) === 0n) return undefined;
  const slope = modulo(
    x1 === x2 ? (3n * x1 * x1 - 3n) * inverseOf(2n * y1, p) : (y2 - y1) * inverseOf(modulo(x2 - x1, p), p),
    p,
  );
  const x3 = modulo(slope * slope - x1 - x2, p);
  return [x3, modulo(slope * (x1 - x3) - y1, p)];
}

function inverseOf(value: bigint, modulus: bigint): bigint {
  let [low, high, a, b] = [modulo(value, modulus), modulus, 1n, 0n];
  while (low > 1n) {
    const quotient = high / low;
    [low, high, a, b] = [high - quotient * low, low, b - quotient * a, a];
  }
  return modulo(a, modulus);
}

function modulo(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus;
  return rest < 0n ? rest + modulus : rest;
}

function numberOf(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function halvesOf(signature: Buffer, bytes: number): [bigint, bigint] | undefined {
  if (signature.length !== 2 * bytes) return undefined;
  return [numberOf(signature.subarray(0, bytes)), numberOf(signature.subarray(bytes))];
}

/** Returns r and s of an Ecdsa-Sig-Value (RFC 3279 section 2.2.3) in DER. */
function integersOf(signature: Buffer): [bigint, bigint] | undefined {
  const isLong = signature[1] === 0x81;
  const from = isLong ? 3 : 2;
  if (signature[0] !== 0x30 || signature[isLong ? 2 : 1] !== signature.length - from) return undefined;
  const first = integerAt(signature, from);
  const second = first && integerAt(signature, first.end);
  return second?.end === signature.length && first !== undefined ? [first.value, second.value] : undefined;
}

function integerAt(bytes: Buffer, at: number): { readonly value: bigint; readonly end: number } | undefined {
  const [tag, length = 0] = [bytes[at], bytes[at + 1]];
  const end = at + 2 + length;
  if (tag !== 0x02 || length === 0 || length > 0x7f || end > bytes.length) return undefined;
  return { value: numberOf(bytes.subarray(at + 2, end)), end };
}
