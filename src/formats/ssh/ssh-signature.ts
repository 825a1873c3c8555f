import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { affordable } from '../asn1/key-cost.js';
import { WireReader, wireMpint, wireString } from './wire.js';
import { ownProperty } from '../encoding/own-property.js';

const CURVES: Record<string, { crv: string; bytes: number; hash: string }> = {
  'ecdsa-sha2-nistp256': { crv: 'P-256', bytes: 32, hash: 'sha256' },
  'ecdsa-sha2-nistp384': { crv: 'P-384', bytes: 48, hash: 'sha384' },
  'ecdsa-sha2-nistp521': { crv: 'P-521', bytes: 66, hash: 'sha512' },
};
const RSA_HASH: Record<string, string> = { 'ssh-rsa': 'sha1', 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' };

/**
 * Reports whether the signature over the data (RFC 4253 section 6.6) was made with the key. Throws for malformed keys and signatures, and for keys that are
 * too costly.
 */
export function isSignedBy(signer: Buffer, signature: Buffer, data: Buffer): boolean {
  const sealed = new WireReader(signature);
  const algorithm = sealed.string().toString('latin1');
  const value = sealed.string();
  const key = new WireReader(signer);
  const type = key.string().toString('latin1');
  if (type === 'ssh-ed25519' && algorithm === type) return verify(null, data, ed25519(key.string()), value);
  const curve = ownProperty(CURVES, type);
  if (curve !== undefined && algorithm === type) {
    key.string(); // Skips the curve name, which the type already contains.
    return verify(
      curve.hash,
      data,
      { key: ecdsa(curve, key.string()), dsaEncoding: 'ieee-p1363' },
      flat(value, curve.bytes),
    );
  }
  const hash = ownProperty(RSA_HASH, algorithm);
  if (type !== 'ssh-rsa' || hash === undefined) return false;
  const [e, n] = [key.string(), key.string()];
  return verify(hash, data, rsa(n, e), value);
}

/**
 * Encodes a signature blob (RFC 4253 section 6.6, RFC 5656 section 3.1.2).
 *
 * @param algorithm name of the algorithm, such as `rsa-sha2-512` or `ecdsa-sha2-nistp256`
 * @param value for ECDSA r‖s, each in the full width of the curve; otherwise the value itself
 */
export function sshSignature(algorithm: string, value: Buffer): Buffer {
  const isEcdsa = ownProperty(CURVES, algorithm) !== undefined;
  return Buffer.concat([wireString(algorithm), wireString(isEcdsa ? twoNumbers(value) : value)]);
}

function twoNumbers(value: Buffer): Buffer {
  const half = value.length / 2;
  return Buffer.concat([value.subarray(0, half), value.subarray(half)].map(wireMpint));
}

function ed25519(x: Buffer): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }, format: 'jwk' });
}

function rsa(n: Buffer, e: Buffer): KeyObject {
  const jwk = { kty: 'RSA', n: bare(n).toString('base64url'), e: bare(e).toString('base64url') };
  return affordable(createPublicKey({ key: jwk, format: 'jwk' }));
}

function ecdsa({ crv, bytes }: { crv: string; bytes: number }, point: Buffer): KeyObject {
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)];
  return createPublicKey({
    key: { kty: 'EC', crv, x: x.toString('base64url'), y: y.toString('base64url') },
    format: 'jwk',
  });
}

/** Returns r and s of an ECDSA signature (RFC 5656 section 3.1.2), each in the full width of the curve. */
function flat(value: Buffer, width: number): Buffer {
  const reader = new WireReader(value);
  const parts = [reader.string(), reader.string()].map(bare);
  if (!reader.done || parts.some(({ length }) => length > width))
    throw new RangeError('r or s is out of range for the curve');
  return Buffer.concat(parts.map((part) => Buffer.concat([Buffer.alloc(width), part]).subarray(-width)));
}

function bare(mpint: Buffer): Buffer {
  return mpint[0] === 0 ? mpint.subarray(1) : mpint;
}
