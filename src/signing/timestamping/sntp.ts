import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HostAndPort, readHostAndPort } from '../../formats/encoding/host-port.js';

/** Seconds between the epochs of NTP (1900) and Unix (1970). */
const EPOCHS_APART = 2_208_988_800;
/** Number of seconds in an NTP era. The second era begins in February 2036. */
const ERA = 2 ** 32;
const VERSION_4_CLIENT = 0x23;
const SERVER_MODE = 4;
const PACKET_BYTES = 48;
const DEFAULT_PORT = 123;

/**
 * Returns the milliseconds by which the clock of a time server is ahead of the local clock (SNTP, RFC 4330 section 5). The request carries a random
 * number instead of the local time, so that a response to another request is not accepted. Rejects if the server does not respond or is not
 * synchronized.
 *
 * @param server host, or host:port; an IPv6 address with a port is in brackets
 */
export async function clockOffset(server: string, timeoutMs = 2000): Promise<number> {
  const place = readHostAndPort(server, DEFAULT_PORT);
  if (place === undefined) throw new Error(`invalid time server "${server}": expected host or host:port`);
  const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`${server} did not respond`);
  });
  const { address, family } = await Promise.race([lookup(place.host), late]);
  return ask(server, createSocket(family === 6 ? 'udp6' : 'udp4'), { host: address, port: place.port }, late);
}

/** Sends the query through a separate socket, which is closed afterwards. */
async function ask(server: string, socket: Socket, { host, port }: HostAndPort, late: Promise<never>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = Buffer.alloc(PACKET_BYTES);
  request[0] = VERSION_4_CLIENT;
  const cookie = randomBytes(8);
  cookie.copy(request, 40);
  let sent = Date.now();
  socket.on('error', reject);
  socket.on('message', (answer) => {
    const received = Date.now();
    if (answer.length < PACKET_BYTES || !answer.subarray(24, 32).equals(cookie)) return;
    const stratum = answer.readUInt8(1);
    if ((answer.readUInt8(0) & 7) !== SERVER_MODE || answer.readUInt8(0) >> 6 === 3 || stratum === 0 || stratum > 15)
      reject(new Error(`${server} is not synchronized`));
    resolve((timeAt(answer, 32) - sent + (timeAt(answer, 40) - received)) / 2);
  });
  try {
    socket.send(request, port, host, (error) => {
      if (error !== null) reject(error);
      sent = Date.now();
    });
    return await Promise.race([promise, late]);
  } finally {
    socket.close();
  }
}

/**
 * Converts an NTP timestamp (32-bit seconds and 32-bit fraction) to milliseconds since 1970. If the highest bit is 0, the timestamp belongs to the second era
 * (RFC 4330 section 3).
 */
function timeAt(packet: Buffer, offset: number): number {
  const raw = packet.readUInt32BE(offset);
  const seconds = raw < ERA / 2 ? raw + ERA : raw;
  return (seconds - EPOCHS_APART) * 1000 + (packet.readUInt32BE(offset + 4) * 1000) / 2 ** 32;
}
