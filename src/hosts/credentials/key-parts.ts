import { createECDH, createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { unreadable } from './private-key-fault.js';
import { ownProperty } from '../../formats/encoding/own-property.js';

const P256 = { crv: 'P-256', name: 'prime256v1', bytes: 32 };
const P384 = { crv: 'P-384', name: 'secp384r1', bytes: 48 };
const P521 = { crv: 'P-521', name: 'secp521r1', bytes: 66 };
const CURVES: Readonly<Record<string, typeof P256>> = { nistp256: P256, nistp384: P384, nistp521: P521 };
const ED25519_BYTES = 32;

export interface RsaParts {
  readonly n: Buffer;
  readonly e: Buffer;
  readonly d: Buffer;
  readonly p: Buffer;
  readonly q: Buffer;
  /** Inverse of q modulo p. */
  readonly qi: Buffer;
}

/** @param seed 32 bytes (RFC 8032) */
export function ed25519Key(seed: Buffer): KeyObject {
  if (seed.length !== ED25519_BYTES) throw unreadable('is damaged: an Ed25519 key must have 32 bytes');
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 (RFC 8410) up to the seed
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
}

/**
 * @param curve name as in RFC 5656 section 10.1
 * @param scalar big-endian, with or without leading zeros
 */
export function ecKey(curve: string, scalar: Buffer): KeyObject {
  const known = ownProperty(CURVES, curve);
  if (known === undefined) throw unreadable('uses a curve that SSH does not support');
  const d = padded(scalar, known.bytes);
  const ecdh = createECDH(known.name);
  ecdh.setPrivateKey(d);
  const point = ecdh.getPublicKey();
  const [x, y] = [point.subarray(1, 1 + known.bytes), point.subarray(1 + known.bytes)];
  return fromJwk({ kty: 'EC', crv: known.crv, x: text(x), y: text(y), d: text(d) });
}

export function rsaKey({ n, e, d, p, q, qi }: RsaParts): KeyObject {
  const [dp, dq] = [p, q].map((prime) => numberOf(d) % (numberOf(prime) - 1n)).map(bytesOf);
  const parts = { n, e, d, p, q, dp: dp as Buffer, dq: dq as Buffer, qi };
  const texts = Object.fromEntries(Object.entries(parts).map(([name, bytes]) => [name, text(withoutZeros(bytes))]));
  return fromJwk({ kty: 'RSA', ...texts });
}

function fromJwk(key: JsonWebKey): KeyObject {
  return createPrivateKey({ key, format: 'jwk' });
}

function text(bytes: Buffer): string {
  return bytes.toString('base64url');
}

function withoutZeros(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
}

function padded(bytes: Buffer, length: number): Buffer {
  const digits = withoutZeros(bytes);
  if (digits.length > length) throw unreadable('is damaged: the private scalar is too large for the curve');
  return Buffer.concat([Buffer.alloc(length - digits.length), digits]);
}

function numberOf(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function bytesOf(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}
