import { createHash, createPublicKey, type JsonWebKey } from 'node:crypto';
import { base64UrlBytes } from '../encoding/base64.js';

/** Public-key algorithm IDs (RFC 9580 section 9.1). */
export const PGP_ALGORITHM = { rsa: 1, ecdsa: 19 } as const;

/** Curves with the contents of their object identifier (RFC 9580 section 9.2). */
const CURVE_OIDS: Readonly<Record<string, string>> = {
  'P-256': '2a8648ce3d030107',
  'P-384': '2b81040022',
  'P-521': '2b81040023',
};
const VERSION = 4;
/** The octet that begins what is hashed of a key (RFC 9580 sections 5.2.4 and 5.5.4). */
const KEY_MARK: Readonly<Record<number, number>> = { 4: 0x99, 5: 0x9a, 6: 0x9b };

/** A public key as OpenPGP knows it: the pair, and the second in which it says that it was made. */
export interface PgpPublicKey {
  /** SubjectPublicKeyInfo, DER; RSA, or on one of the curves P-256, P-384 and P-521. */
  readonly publicKey: Buffer;
  readonly madeAt: Date;
}

/** Seconds of Unix time, as OpenPGP writes times. */
export function pgpSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

export function fourOctets(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value);
  return octets;
}

/** The body of a public-key packet of version 4 (RFC 9580 section 5.5.2.2). @throws RangeError for a key of another type. */
export function keyBody({ publicKey, madeAt }: PgpPublicKey): Buffer {
  const jwk = createPublicKey({ key: publicKey, format: 'der', type: 'spki' }).export({ format: 'jwk' });
  const head = Buffer.concat([Buffer.from([VERSION]), fourOctets(pgpSeconds(madeAt))]);
  return Buffer.concat([head, ...materialOf(jwk)]);
}

/** The public-key algorithm ID of a key. @throws RangeError for a key of another type. */
export function pgpAlgorithmOf(publicKey: Buffer): number {
  return keyBody({ publicKey, madeAt: new Date(0) }).readUInt8(5);
}

function materialOf({ kty, n = '', e = '', crv = '', x = '', y = '' }: JsonWebKey): Buffer[] {
  if (kty === 'RSA') return [Buffer.from([PGP_ALGORITHM.rsa]), mpi(base64UrlBytes(n)), mpi(base64UrlBytes(e))];
  const oid = CURVE_OIDS[crv];
  if (kty !== 'EC' || oid === undefined) throw new RangeError('OpenPGP version 4 has no such key');
  const curve = Buffer.from(oid, 'hex');
  const point = Buffer.concat([Buffer.from([0x04]), base64UrlBytes(x), base64UrlBytes(y)]);
  return [Buffer.from([PGP_ALGORITHM.ecdsa, curve.length]), curve, mpi(point)];
}

/** A multiprecision integer (RFC 9580 section 3.2): its bits without leading zeros, then its octets. */
export function mpi(magnitude: Buffer): Buffer {
  const first = magnitude.findIndex((octet) => octet !== 0);
  const octets = first < 0 ? Buffer.alloc(0) : magnitude.subarray(first);
  const head = Buffer.alloc(2);
  if (octets.length > 0) head.writeUInt16BE((octets.length - 1) * 8 + (32 - Math.clz32(octets[0] ?? 0)));
  return Buffer.concat([head, octets]);
}

/** What is hashed of a key, for its fingerprint and for signatures over it. */
export function hashedKey(body: Buffer, version = VERSION): Buffer {
  const head = Buffer.alloc(version === 4 ? 3 : 5);
  head[0] = KEY_MARK[version] ?? 0;
  head.writeUIntBE(body.length, 1, head.length - 1);
  return Buffer.concat([head, body]);
}

/** The fingerprint of a key of version 4, 5 or 6 (RFC 9580 section 5.5.4). */
export function openPgpFingerprintOf(body: Buffer, version = VERSION): Buffer {
  return createHash(version === 4 ? 'sha1' : 'sha256')
    .update(hashedKey(body, version))
    .digest();
}
