/** PgpPacket is a packet of an OpenPGP keyring (RFC 9580 section 4.2; RFC 4880 and LibrePGP use the same packet formats). */
export interface PgpPacket {
  readonly tag: number;
  readonly body: Buffer;
}

/** PGP_TAG maps packets to packet type IDs (RFC 9580 section 5). */
export const PGP_TAG = {
  signature: 2,
  onePassSignature: 4,
  secretKey: 5,
  publicKey: 6,
  secretSubkey: 7,
  userId: 13,
  subkey: 14,
  literalData: 11,
} as const;

const MAX_PACKETS = 1_000_000;

/**
 * Yields the packets of a binary keyring in order, including packets in the legacy format and packets with partial body lengths.
 *
 * @throws RangeError if the bytes are not packets or are truncated
 */
export function* pgpPackets(bytes: Buffer): Generator<PgpPacket> {
  let at = 0;
  for (let count = 0; at < bytes.length; count += 1) {
    const first = bytes[at] ?? 0;
    if ((first & 0x80) === 0 || count === MAX_PACKETS) throw new RangeError('not an OpenPGP packet');
    const isNew = (first & 0x40) !== 0;
    const { body, end } = isNew ? newBody(bytes, at + 1) : oldBody(bytes, at + 1, first & 3);
    yield { tag: isNew ? first & 0x3f : (first >> 2) & 0x0f, body };
    at = end;
  }
}

interface Framed {
  readonly body: Buffer;
  /** Offset of the next packet. */
  readonly end: number;
}

/** Reads the body of a legacy-format packet. Its length is encoded in one, two or four octets, or is indeterminate (RFC 9580 section 4.2.2). */
function oldBody(bytes: Buffer, at: number, type: number): Framed {
  if (type === 3) return slice(bytes, at, bytes.length - at);
  const octets = 1 << type;
  return slice(bytes, at + octets, bytes.readUIntBE(at, octets));
}

/** Reads the body of an OpenPGP-format packet and joins the parts of a body with partial lengths (RFC 9580 section 4.2.1). */
function newBody(bytes: Buffer, start: number): Framed {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const { length, next, isPart } = newLength(bytes, at);
    const { body, end } = slice(bytes, next, length);
    if (!isPart && parts.length === 0) return { body, end };
    parts.push(body);
    if (!isPart) return { body: Buffer.concat(parts), end };
    at = end;
  }
}

/** Reads the length of an OpenPGP-format packet: one, two or five octets, or a partial body length (RFC 9580 section 4.2.1). */
function newLength(bytes: Buffer, at: number): { length: number; next: number; isPart: boolean } {
  const first = bytes.readUInt8(at);
  if (first < 192) return { length: first, next: at + 1, isPart: false };
  if (first < 224) return { length: ((first - 192) << 8) + bytes.readUInt8(at + 1) + 192, next: at + 2, isPart: false };
  if (first === 255) return { length: bytes.readUInt32BE(at + 1), next: at + 5, isPart: false };
  return { length: 2 ** (first & 0x1f), next: at + 1, isPart: true };
}

/**
 * subpacketLength reads the length of a subpacket: one, two or five octets, never a partial length (RFC 9580 section 5.2.3.7). Throws RangeError if the
 * length is truncated.
 */
export function subpacketLength(bytes: Buffer, at: number): { length: number; next: number } {
  const first = bytes.readUInt8(at);
  if (first < 192) return { length: first, next: at + 1 };
  if (first < 255) return { length: ((first - 192) << 8) + bytes.readUInt8(at + 1) + 192, next: at + 2 };
  return { length: bytes.readUInt32BE(at + 1), next: at + 5 };
}

/** Encodes a packet in the OpenPGP format (RFC 9580 section 4.2.1), which all current readers support. */
export function pgpPacket({ tag, body }: PgpPacket): Buffer {
  return Buffer.concat([Buffer.from([0xc0 | tag]), writtenLength(body.length), body]);
}

/** Encodes the length of a packet or subpacket in one, two or five octets. */
export function writtenLength(length: number): Buffer {
  if (length < 192) return Buffer.from([length]);
  const rest = length - 192;
  if (length < 8384) return Buffer.from([192 + (rest >> 8), rest & 0xff]);
  const octets = Buffer.alloc(5, 0xff);
  octets.writeUInt32BE(length, 1);
  return octets;
}

function slice(bytes: Buffer, start: number, length: number): Framed {
  const end = start + length;
  if (end > bytes.length) throw new RangeError('the OpenPGP packet is truncated');
  return { body: bytes.subarray(start, end), end };
}
