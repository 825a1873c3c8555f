import { newLength } from './packets.js';

/** The statements of a signature in a keyring that the inventory reads. Signatures are not verified. */
export interface PgpSignature {
  readonly type: number;
  /** Seconds of Unix time. */
  readonly created: number;
  /** The last eight octets of the fingerprint of who made it, in hexadecimal; undefined when it does not say. */
  readonly issuer: string | undefined;
  /** Seconds from the creation of the key until it may not be used any more; undefined when it does not say, 0 is never. */
  readonly keyExpiry: number | undefined;
  readonly keyFlags: number | undefined;
  /** Why something was revoked (RFC 9580 section 5.2.3.31). */
  readonly reason: number | undefined;
}

const CREATED = 2;
const KEY_EXPIRY = 9;
const ISSUER = 16;
const KEY_FLAGS = 27;
const REASON = 29;
const ISSUER_FINGERPRINT = 33;

/** Undefined for a version that is not read. @throws RangeError when it is cut short. */
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
    created: number(hashed.get(CREATED)) ?? 0,
    issuer: issuerIn(hashed) ?? issuerIn(others),
    keyExpiry: number(hashed.get(KEY_EXPIRY)),
    keyFlags: hashed.get(KEY_FLAGS)?.[0],
    reason: hashed.get(REASON)?.[0],
  };
}

/** It may stand among the subpackets that are not signed (RFC 9580 section 5.2.3.12). */
function issuerIn(subpacketsOf: ReadonlyMap<number, Buffer>): string | undefined {
  const issuer = subpacketsOf.get(ISSUER_FINGERPRINT);
  if (issuer === undefined) return subpacketsOf.get(ISSUER)?.toString('hex');
  const fingerprint = issuer.subarray(1);
  return (issuer[0] === 4 ? fingerprint.subarray(-8) : fingerprint.subarray(0, 8)).toString('hex');
}

/** RFC 4880 section 5.2.2. */
function oldSignature(body: Buffer): PgpSignature {
  const issuer = body.subarray(7, 15).toString('hex');
  const [keyExpiry, keyFlags, reason] = [undefined, undefined, undefined];
  return { type: body.readUInt8(2), created: body.readUInt32BE(3), issuer, keyExpiry, keyFlags, reason };
}

/** Subpackets by type; the last of several. */
function subpackets(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const { length, next, isPart } = newLength(bytes, at);
    const end = next + length;
    if (isPart || length === 0 || end > bytes.length) throw new RangeError('a subpacket is cut short');
    found.set((bytes[next] ?? 0) & 0x7f, bytes.subarray(next + 1, end));
    at = end;
  }
  return found;
}

function number(value: Buffer | undefined): number | undefined {
  return value?.length === 4 ? value.readUInt32BE(0) : undefined;
}
