import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto';
import { base64UrlBytes } from '../encoding/base64.js';

/** PGP_ALGORITHM maps algorithms to public-key algorithm IDs (RFC 9580 section 9.1). */
export const PGP_ALGORITHM = { rsa: 1, ecdsa: 19 } as const;

/** Curves and the contents of their object identifiers (RFC 9580 section 9.2). */
const CURVE_OIDS: Readonly<Record<string, string>> = {
  'P-256': '2a8648ce3d030107',
  'P-384': '2b81040022',
  'P-521': '2b81040023',
};
const VERSION = 4;
/** First octet of the hashed form of a key, by version (RFC 9580 sections 5.2.4 and 5.5.4). */
const KEY_MARK: Readonly<Record<number, number>> = { 4: 0x99, 5: 0x9a, 6: 0x9b };

/** PgpPublicKey is an OpenPGP public key: the key material, and the creation time in whole seconds. */
export interface PgpPublicKey {
  /** SubjectPublicKeyInfo in DER. RSA, or EC on P-256, P-384 or P-521. */
  readonly publicKey: Buffer;
  readonly madeAt: Date;
}

/** Returns Unix time in seconds, the unit that OpenPGP uses for times. */
export function pgpSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

export function fourOctets(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return octets;
}

/**
 * Returns the body of a version 4 public-key packet (RFC 9580 section 5.5.2.2).
 *
 * @throws RangeError for an unsupported key type
 */
export function keyBody({ publicKey, madeAt }: PgpPublicKey): Buffer {
  const jwk = createPublicKey({ key: publicKey, format: 'der', type: 'spki' }).export({ format: 'jwk' });
  const head = Buffer.concat([Buffer.from([VERSION]), fourOctets(pgpSeconds(madeAt))]);
  return Buffer.concat([head, ...materialOf(jwk)]);
}

/**
 * Returns the public-key algorithm ID of a key.
 *
 * @throws RangeError for an unsupported key type
 */
export function pgpAlgorithmOf(publicKey: Buffer): number {
  return keyBody({ publicKey, madeAt: new Date(0) }).readUInt8(5);
}

function materialOf({ kty, n = '', e = '', crv = '', x = '', y = '' }: JsonWebKey): Buffer[] {
  if (kty === 'RSA') return [Buffer.from([PGP_ALGORITHM.rsa]), mpi(base64UrlBytes(n)), mpi(base64UrlBytes(e))];
  const oid = CURVE_OIDS[crv];
  if (kty !== 'EC' || oid === undefined) throw new RangeError('OpenPGP version 4 does not support this key');
  const curve = Buffer.from(oid, 'hex');
  const point = Buffer.concat([Buffer.from([0x04]), base64UrlBytes(x), base64UrlBytes(y)]);
  return [Buffer.from([PGP_ALGORITHM.ecdsa, curve.length]), curve, mpi(point)];
}

/** Encodes a multiprecision integer (RFC 9580 section 3.2): the bit length without leading zeros, then the octets. */
export function mpi(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((octet) => octet !== 0);
  const octets = first < 0 ? Buffer.alloc(0) : magnitude.subarray(first);
  const head = Buffer.alloc(2);
  if (octets.length > 0) head.writeUInt16BE((octets.length - 1) * 8 + (32 - Math.clz32(octets[0] ?? 0)));
  return Buffer.concat([head, octets]);
}

/** Returns the hashed form of a key, which is the input of its fingerprint and of signatures over the key. */
export function hashedKey(body: Buffer, version = VERSION): Buffer {
  const head = Buffer.alloc(version === 4 ? 3 : 5);
  head[0] = KEY_MARK[version] ?? 0;
  head.writeUIntBE(body.length, 1, head.length - 1);
  return Buffer.concat([head, body]);
}

/** Returns the fingerprint of a version 4, 5 or 6 key (RFC 9580 section 5.5.4). */
export function openPgpFingerprintOf(body: Buffer, version = VERSION): Buffer {
  return createHash(version === 4 ? 'sha1' : 'sha256')
    .update(hashedKey(body, version))
    .digest();
}
