import { fourOctets, mpi, PGP_ALGORITHM } from './key-packet.js';
import { PGP_TAG, pgpPacket, pgpPackets, writtenLength } from './packets.js';
import { PGP_SUBPACKET, type PgpSubpacket, subpacketsIn } from './signatures.js';

/** PGP_SIGNATURE contains the type IDs (RFC 9580 section 5.2.1) of the signatures that this service creates. */
export const PGP_SIGNATURE = { binary: 0x00, text: 0x01, certification: 0x13, keyRevocation: 0x20 } as const;

/** PGP_HASH maps hashes to hash algorithm IDs (RFC 9580 section 9.5). */
export const PGP_HASH = { sha256: 8, sha384: 9, sha512: 10 } as const;
export type PgpHash = keyof typeof PGP_HASH;

const VERSION = 4;
const HEAD_BYTES = 6;

/** HashedPart is the part of a version 4 signature that is hashed after the document (RFC 9580 section 5.2.4). */
export interface HashedPart {
  readonly type: number;
  /** Public-key algorithm ID. */
  readonly algorithm: number;
  readonly hash: PgpHash;
  readonly subpackets: readonly PgpSubpacket[];
}

/** Encodes everything from the version to the last hashed subpacket. */
export function writeHashedPart({ type, algorithm, hash, subpackets }: HashedPart): Buffer {
  const area = Buffer.concat(subpackets.map(writtenSubpacket));
  const head = Buffer.from([VERSION, type, algorithm, PGP_HASH[hash], 0, 0]);
  head.writeUInt16BE(area.length, 4);
  return Buffer.concat([head, area]);
}

/**
 * Parses a complete hashed part.
 *
 * @throws RangeError for another version or hash, or if the bytes are not exactly a hashed part
 */
export function readHashedPart(bytes: Buffer): HashedPart {
  if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) throw new RangeError('not a signature of version 4');
  if (bytes.readUInt16BE(4) !== bytes.length - HEAD_BYTES)
    throw new RangeError('the hashed subpackets do not have the declared length');
  const hash = (Object.keys(PGP_HASH) as PgpHash[]).find((name) => PGP_HASH[name] === bytes[3]);
  if (hash === undefined) throw new RangeError('the hash must be SHA-256, SHA-384 or SHA-512');
  const subpackets = subpacketsIn(bytes.subarray(HEAD_BYTES));
  return { type: bytes.readUInt8(1), algorithm: bytes.readUInt8(2), hash, subpackets };
}

function writtenSubpacket({ type, critical, value }: PgpSubpacket): Buffer {
  return Buffer.concat([writtenLength(value.length + 1), Buffer.from([critical ? type | 0x80 : type]), value]);
}

export function subpacket(type: number, value: Buffer | number, critical = false): PgpSubpacket {
  return { type, critical, value: typeof value === 'number' ? fourOctets(value) : value };
}

/** Returns the subpacket that identifies the key by its version 4 fingerprint. */
export function issuerSubpacket(fingerprint: Buffer): PgpSubpacket {
  return subpacket(PGP_SUBPACKET.issuerFingerprint, Buffer.concat([Buffer.from([VERSION]), fingerprint]));
}

/** Returns the version 4 fingerprint in a hashed part. Undefined unless the hashed part contains exactly one fingerprint. */
export function issuerFingerprintOf({ subpackets }: HashedPart): Buffer | undefined {
  const [issuer, ...more] = subpackets.filter(({ type }) => type === PGP_SUBPACKET.issuerFingerprint);
  return more.length === 0 && issuer?.value[0] === VERSION && issuer.value.length === 21
    ? issuer.value.subarray(1)
    : undefined;
}

/** Returns the trailer that is hashed after the document: the hashed part and its length. */
export function trailerOf(hashedPart: Buffer): Buffer {
  return Buffer.concat([hashedPart, Buffer.from([VERSION, 0xff]), fourOctets(hashedPart.length)]);
}

/** Parts of a signature packet other than the hashed part. */
interface PgpSignatureValue {
  /** Signed digest, whose first two octets are part of the packet. */
  readonly digest: Buffer;
  /** RSA: the signature. ECDSA: r and s, each as long as the curve order, concatenated (IEEE P1363). */
  readonly signature: Buffer;
}

/** Encodes a version 4 signature packet (RFC 9580 section 5.2.3). The unhashed part repeats the key ID for old readers. */
export function signaturePacket(hashedPart: Buffer, { digest, signature }: PgpSignatureValue): Buffer {
  const part = readHashedPart(hashedPart);
  const issuer = issuerFingerprintOf(part)?.subarray(-8);
  const unhashed = issuer === undefined ? Buffer.alloc(0) : writtenSubpacket(subpacket(PGP_SUBPACKET.issuer, issuer));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(unhashed.length);
  const half = signature.length / 2;
  const numbers =
    part.algorithm === PGP_ALGORITHM.rsa ? [signature] : [signature.subarray(0, half), signature.subarray(half)];
  const body = Buffer.concat([hashedPart, length, unhashed, digest.subarray(0, 2), ...numbers.map(mpi)]);
  return pgpPacket({ tag: PGP_TAG.signature, body });
}

interface ReadSignature {
  readonly hashedPart: Buffer;
  /** First two octets of the digest. */
  readonly left: Buffer;
  /** RSA: one number. ECDSA: r and s. */
  readonly numbers: readonly Buffer[];
}

/**
 * Parses exactly one version 4 signature packet.
 *
 * @throws RangeError for anything else
 */
export function readSignaturePacket(bytes: Buffer): ReadSignature {
  const [packet, ...more] = pgpPackets(bytes);
  if (packet?.tag !== PGP_TAG.signature || more.length > 0 || packet.body[0] !== VERSION)
    throw new RangeError('not a single OpenPGP signature of version 4');
  const { body } = packet;
  const hashedEnd = HEAD_BYTES + body.readUInt16BE(4);
  const left = hashedEnd + 2 + body.readUInt16BE(hashedEnd);
  const numbers: Buffer[] = [];
  for (let at = left + 2; at < body.length;) {
    const end = at + 2 + Math.ceil(body.readUInt16BE(at) / 8);
    if (end > body.length || numbers.length === 2) throw new RangeError('the integers of the signature are truncated');
    numbers.push(body.subarray(at + 2, end));
    at = end;
  }
  return { hashedPart: body.subarray(0, hashedEnd), left: body.subarray(left, left + 2), numbers };
}
