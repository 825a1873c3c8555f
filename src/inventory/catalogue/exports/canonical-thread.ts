import { parentPort, workerData } from 'node:worker_threads';
import { CanonicalHash } from './canonical-hash.js';

export interface CanonicalWork {
  readonly hash: string;
  readonly members: Readonly<Record<string, unknown>>;
  /** Names of the lists, in the order in which they are sent. */
  readonly lists: readonly string[];
}

/**
 * CanonicalMessage is the name of the next list, a part of that list's lines, or the end. The thread acknowledges each message after processing it; the last
 * reply contains the digest.
 */
export type CanonicalMessage = { readonly list: string } | ArrayBuffer | 'end';

const { hash, members, lists } = workerData as CanonicalWork;
const canonical = new CanonicalHash(hash, members, lists);

parentPort?.on('message', (message: CanonicalMessage) => {
  let answer: Uint8Array | undefined;
  if (message === 'end') answer = canonical.digest();
  else if (message instanceof ArrayBuffer) canonical.lines(Buffer.from(message));
  else canonical.list(message.list);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answer);
});
