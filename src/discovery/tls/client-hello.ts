import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { BoundedStream, ProbeFault } from '../probing/bounded-stream.js';
import { VERSIONS } from './tls-names.js';

const LIMITS = { connectMs: 4000, totalMs: 6000, maxBytes: 64 * 1024 };
const TLS_13 = VERSIONS['TLS 1.3'] as number;
const TLS_12 = VERSIONS['TLS 1.2'] as number;
const SIGNATURE_SCHEMES = [
  0x0904, 0x0905, 0x0906, 0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0809, 0x080a, 0x080b, 0x0804, 0x0805, 0x0806,
  0x0401, 0x0501, 0x0601, 0x0203, 0x0201, 0x0202, 0x0101,
];

/** Offer is the content of a ClientHello. */
export interface Offer {
  readonly version: number;
  readonly suites: readonly number[];
  readonly groups: readonly number[];
  /** Server name for SNI (RFC 6066). */
  readonly name?: string;
}

/** Choice contains what the server selected in a ServerHello. */
export interface Choice {
  readonly version: number;
  readonly suite: number;
  /** Selected group (TLS 1.3 only). */
  readonly group?: number;
}

/**
 * exchangeHellos sends one ClientHello and returns the server's choice. A TLS 1.3 offer has no key share, so the server selects its preferred group in a
 * HelloRetryRequest (RFC 8446 section 4.1.4). The handshake ends there, so the offer may include groups and suites that this machine does not support. Returns
 * undefined if the server rejects the offer. Throws ProbeFault if the server is unreachable.
 */
export async function exchangeHellos(host: string, port: number, offer: Offer): Promise<Choice | undefined> {
  const stream = await BoundedStream.open(host, port, LIMITS);
  try {
    stream.write(record(clientHello(offer), offer.version));
    const head = await stream.read(5);
    if (head[0] === 21) return undefined; // an alert: the server rejects the offer
    if (head[0] !== 22) throw new ProbeFault('malformed', 'not TLS');
    const body = await stream.read(Math.min(head.readUInt16BE(3), 16_640));
    return body[0] === 2 ? choiceIn(body) : undefined;
  } catch (error) {
    // Many servers close the connection if they do not accept the offer, which is a valid result.
    if (error instanceof ProbeFault && (error.code === 'hung-up' || error.code === 'throttled')) return undefined;
    if (error instanceof RangeError) throw new ProbeFault('malformed', 'the ServerHello is truncated');
    throw error;
  } finally {
    stream.close();
  }
}

function clientHello({ version, suites, groups, name }: Offer): Buffer {
  const is13 = version === TLS_13;
  const extensions = [
    ...(name !== undefined && isIP(name) === 0 ? [extension(0, serverName(name))] : []),
    ...(groups.length > 0 ? [extension(10, vector16(groups))] : []),
    extension(11, Buffer.from([1, 0])),
    ...(version >= TLS_12 ? [extension(13, vector16(SIGNATURE_SCHEMES))] : []),
    extension(23, Buffer.alloc(0)),
    ...(is13
      ? [extension(43, Buffer.from([2, 3, 4])), extension(51, Buffer.from([0, 0])), extension(45, Buffer.from([1, 1]))]
      : []),
  ];
  const all = version === (VERSIONS['SSL 3.0'] as number) ? Buffer.alloc(0) : lengthed16(Buffer.concat(extensions));
  const legacy = Math.min(version, TLS_12);
  const body = Buffer.concat([
    uint16(legacy),
    randomBytes(32),
    Buffer.from([is13 ? 32 : 0]),
    is13 ? randomBytes(32) : Buffer.alloc(0),
    vector16(suites),
    Buffer.from([1, 0]),
    all,
  ]);
  return Buffer.concat([Buffer.from([1, 0]), uint16(body.length), body]);
}

/** Parses a ServerHello (RFC 8446 section 4.1.3). Throws RangeError when reading past the end of the message. */
function choiceIn(message: Buffer): Choice {
  const legacy = message.readUInt16BE(4);
  const afterSession = 39 + message.readUInt8(38);
  const suite = message.readUInt16BE(afterSession);
  const choice = { version: legacy, suite };
  let at = afterSession + 5;
  let [version, group]: [number, number | undefined] = [legacy, undefined];
  while (at + 4 <= message.length) {
    const [type, length] = [message.readUInt16BE(at), message.readUInt16BE(at + 2)];
    if (type === 43 && length === 2) version = message.readUInt16BE(at + 4);
    if (type === 51 && length >= 2) group = message.readUInt16BE(at + 4);
    at += 4 + length;
  }
  return { ...choice, version, group };
}

function record(message: Buffer, version: number): Buffer {
  return Buffer.concat([Buffer.from([22]), uint16(version === 0x0300 ? version : 0x0301), lengthed16(message)]);
}

function serverName(name: string): Buffer {
  return lengthed16(Buffer.concat([Buffer.from([0]), lengthed16(Buffer.from(name))]));
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([uint16(type), lengthed16(body)]);
}

function vector16(values: readonly number[]): Buffer {
  return lengthed16(Buffer.concat(values.map(uint16)));
}

function lengthed16(body: Buffer): Buffer {
  return Buffer.concat([uint16(body.length), body]);
}

function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 255]);
}
