import { parentPort, workerData } from 'node:worker_threads';
import { PrivateKeyFault, type PrivateKeyFaultReason } from './private-key-fault.js';
import { readLoginKey, type UsableKey } from './private-key-reader.js';

export interface PrivateKeyOrder {
  readonly text: string;
  readonly passphrase?: string;
}

/** Reply to the main thread, which receives Buffers as Uint8Array. */
export type PrivateKeyReply =
  | { readonly key: UsableKey }
  | { readonly fault: { readonly reason: PrivateKeyFaultReason; readonly message: string } };

const { text, passphrase } = workerData as PrivateKeyOrder;

async function reply(): Promise<PrivateKeyReply> {
  try {
    return { key: await readLoginKey(text, passphrase) };
  } catch (error) {
    const { reason, message } =
      error instanceof PrivateKeyFault ? error : new PrivateKeyFault('unreadable', 'cannot be parsed');
    return { fault: { reason, message } };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await reply());
