import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOwnFault } from '../probing/own-fault.js';

export type SweepAnswer = 'open' | 'closed' | 'silent';

/** Whether somebody accepts connections there; the connection is closed at once. Throws when this machine cannot ask. */
export function knock(host: string, port: number, timeoutMs: number): Promise<SweepAnswer> {
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

interface Stretch {
  readonly first: number;
  readonly total: number;
  /** Visits that are under way or not yet written down, at most. */
  readonly most: number;
  /** Every position before this one has been written down. */
  readonly kept: () => number;
  readonly stopped: () => boolean;
}

/**
 * Visits positions with many at once, never further than `most` beyond what has been written down: that is all that a crash makes to be
 * done again. `below` is called with every position that all before it have ended.
 */
export async function inOrder(
  { first, total, most, kept, stopped }: Stretch,
  visit: (position: number) => Promise<void>,
  below: (position: number) => void,
): Promise<void> {
  const ended = new Set<number>();
  let low = first;
  let next = first;
  const worker = async (): Promise<void> => {
    for (;;) {
      while (next - kept() >= most && !stopped()) await sleep(5);
      if (next >= total || stopped()) return;
      const position = next;
      next += 1;
      await visit(position);
      ended.add(position);
      while (ended.delete(low)) low += 1;
      below(low);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, total - first) }, worker));
}
