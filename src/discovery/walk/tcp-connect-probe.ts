import { connect } from 'node:net';
import { isOwnFault } from '../probing/own-fault.js';

export type SweepAnswer = 'open' | 'closed' | 'silent';

/** Whether somebody accepts connections there; the connection is closed at once. Throws when this machine cannot ask. */
export function tcpConnectProbe(host: string, port: number, timeoutMs: number): Promise<SweepAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const timer = setTimeout(() => end('silent'), timeoutMs);
    const end = (answer: SweepAnswer) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end('open'));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (isOwnFault(error)) reject(error);
      end(error.code === 'ECONNREFUSED' ? 'closed' : 'silent');
    });
  });
}
