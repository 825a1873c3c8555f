import { subpacketLength } from './packets.js';

/** PgpSignature contains the information that the inventory extracts from a signature in a keyring. Signatures are not verified. */
export interface PgpSignature {
  readonly type: number;
  /** Creation time in Unix time (seconds). */
  readonly created: number;
  /** Last eight octets of the issuer's fingerprint, in hexadecimal. Undefined if the signature does not name the issuer. */
  readonly issuer: string | undefined;
  /** Lifetime of the key in seconds after its creation. 0 means that the key does not expire. Undefined if not specified. */
  readonly keyExpiry: number | undefined;
  readonly keyFlags: number | undefined;
  /** Reason for revocation (RFC 9580 section 5.2.3.31). */
  readonly reason: number | undefined;
}

/** PGP_SUBPACKET maps subpackets to their types (RFC 9580 section 5.2.3.7). */
export const PGP_SUBPACKET = {
  created: 2,
  signatureExpiry: 3,
  keyExpiry: 9,
  issuer: 16,
  notation: 20,
  preferredHashes: 21,
  primaryUserId: 25,
  policyUri: 26,
  keyFlags: 27,
  signersUserId: 28,
  reason: 29,
  issuerFingerprint: 33,
} as const;

/**
 * Parses a signature. Undefined for an unsupported version.
 *
 * @throws RangeError if the body is truncated
 */
export function pgpSignature(body: Buffer): PgpSignature | undefined {
  const version = body.readUInt8(0);
  if (version === 2 || version === 3) return oldSignature(body);
  if (version < 4 || version > 6) return undefined;
  const octets = version === 6 ? 4 : 2;
  const length = body.readUIntBE(4, octets);
  const hashed = subpackets(body.subarray(4 + octets, 4 + octets + length));
  const rest = 4 + octets + length;
  const others = subpackets(body.subarray(rest + octets, rest + octets + body.readUIntBE(rest, octets)));
  return {
    type: body.readUInt8(1),
    created: number(hashed.get(PGP_SUBPACKET.created)) ?? 0,
    issuer: issuerIn(hashed) ?? issuerIn(others),
    keyExpiry: number(hashed.get(PGP_SUBPACKET.keyExpiry)),
    keyFlags: hashed.get(PGP_SUBPACKET.keyFlags)?.[0],
    reason: hashed.get(PGP_SUBPACKET.reason)?.[0],
  };
}

/** Returns the key ID of the issuer, which can also be in the unhashed subpackets (RFC 9580 section 5.2.3.12). */
function issuerIn(subpacketsOf: ReadonlyMap<number, Buffer>): string | undefined {
  const issuer = subpacketsOf.get(PGP_SUBPACKET.issuerFingerprint);
  if (issuer === undefined) return subpacketsOf.get(PGP_SUBPACKET.issuer)?.toString('hex');
  const fingerprint = issuer.subarray(1);
  return (issuer[0] === 4 ? fingerprint.subarray(-8) : fingerprint.subarray(0, 8)).toString('hex');
}

/** Parses a signature of version 2 or 3 (RFC 4880 section 5.2.2). */
function oldSignature(body: Buffer): PgpSignature {
  const issuer = body.subarray(7, 15).toString('hex');
  const [keyExpiry, keyFlags, reason] = [undefined, undefined, undefined];
  return { type: body.readUInt8(2), created: body.readUInt32BE(3), issuer, keyExpiry, keyFlags, reason };
}

/** Returns subpackets by type. The last subpacket of a type takes precedence. */
function subpackets(bytes: Buffer): Map<number, Buffer> {
  return new Map(subpacketsIn(bytes).map(({ type, value }) => [type, value]));
}

/** PgpSubpacket is a subpacket of a signature (RFC 9580 section 5.2.3.7). */
export interface PgpSubpacket {
  readonly type: number;
  /** Whether a reader that does not know the type must reject the signature. */
  readonly critical: boolean;
  readonly value: Buffer;
}

/**
 * Returns all subpackets of an area in order.
 *
 * @throws RangeError if a subpacket is truncated
 */
export function subpacketsIn(bytes: Buffer): PgpSubpacket[] {
  const found: PgpSubpacket[] = [];
  for (let at = 0; at < bytes.length;) {
    const { length, next } = subpacketLength(bytes, at);
    const end = next + length;
    if (length === 0 || end > bytes.length) throw new RangeError('a subpacket is truncated');
    const type = bytes[next] ?? 0;
    found.push({ type: type & 0x7f, critical: type >= 0x80, value: bytes.subarray(next + 1, end) });
    at = end;
  }
  return found;
}

function number(value: Buffer | undefined): number | undefined {
  return value?.length === 4 ? value.readUInt32BE(0) : undefined;
}
