import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface TimeServer {
  /** Address as host:port. */
  readonly address: string;
  close(): void;
}

const EPOCHS_APART = 2_208_988_800;
/** Seconds in an NTP era, after which the counter restarts at zero. */
const ERA = 2 ** 32;

/** Starts an NTP server whose clock is `offBy` milliseconds ahead, or behind if `offBy` is negative. */
export async function timeServer(offBy: number): Promise<TimeServer> {
  const socket = createSocket('udp4');
  socket.on('message', (request, { port, address }) => {
    const answer = Buffer.alloc(48);
    answer.writeUInt8(0x24, 0); // no leap second, version 4, server
    answer.writeUInt8(1, 1);
    request.copy(answer, 24, 40, 48);
    const now = Date.now() + offBy;
    for (const place of [32, 40]) {
      answer.writeUInt32BE((Math.floor(now / 1000) + EPOCHS_APART) % ERA, place);
      answer.writeUInt32BE(Math.floor(((now % 1000) / 1000) * ERA), place + 4);
    }
    socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}
