import { connect, type Socket } from 'node:net';
import { type Address, formatAddress } from '../../formats/addresses/address.js';
import { unreachable } from './ssh-fault.js';

interface Way {
  readonly port: number;
  readonly timeoutMs: number;
  /** Address of this machine that the connection starts at. */
  readonly localAddress?: string;
}

/** Connects to the first of the addresses that answers. Throws Problem `host.unreachable`. */
export async function openSocket(addresses: readonly Address[], way: Way): Promise<Socket> {
  let last: unknown;
  for (const address of addresses) {
    try {
      return await connected(formatAddress(address), way);
    } catch (error) {
      last = error;
    }
  }
  throw unreachable(last);
}

function connected(host: string, { port, timeoutMs, localAddress }: Way): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, localAddress, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error('no answer in time')), timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
