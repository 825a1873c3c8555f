import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { transferable } from '../../../platform/observability/external-memory.js';
import type { CanonicalMessage, CanonicalWork } from './canonical-thread.js';

/** CanonicalOrder is a JSON object whose long lists arrive as lines. Each line is a comma and a JSON text. A part may end within a line. */
export interface CanonicalOrder {
  readonly hash: string;
  /** Members other than the lists. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Lists in the order of their names, as in the canonical form. */
  readonly lists: Readonly<Record<string, AsyncIterable<Buffer>>>;
}

/** CHUNK is the number of bytes transferred to the thread at a time. */
const CHUNK = 256 * 1024;

/**
 * canonicalDigest returns the hash of the canonical form (RFC 8785). The hash is computed in a separate thread, because hashing a million components takes
 * seconds.
 */
export async function canonicalDigest({ hash, members, lists }: CanonicalOrder): Promise<Buffer> {
  const workerData: CanonicalWork = { hash, members, lists: Object.keys(lists) };
  const worker = new Worker(new URL('./canonical-thread.js', import.meta.url), { name: 'bom-signature', workerData });
  const ended = new AbortController();
  worker.once('exit', () => ended.abort());
  // The error is reported when the next reply is awaited.
  worker.on('error', () => ended.abort());
  try {
    let answer: Promise<unknown[]> | undefined;
    const send = async (message: CanonicalMessage): Promise<void> => {
      await answer;
      answer = once(worker, 'message', { signal: ended.signal });
      answer.catch(() => undefined);
      worker.postMessage(message, message instanceof ArrayBuffer ? [message] : []);
    };
    for (const [name, lines] of Object.entries(lists)) {
      await send({ list: name });
      for await (const chunk of chunksOf(lines)) await send(transferable(chunk));
    }
    await send('end');
    const [digest] = (await answer) ?? [];
    if (!(digest instanceof Uint8Array))
      throw new Error('the thread returned an unexpected message instead of a digest');
    return Buffer.from(digest);
  } finally {
    await worker.terminate();
  }
}

/** Copies the parts into chunks, because memory that is transferred to the thread is no longer accessible here. */
async function* chunksOf(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = [];
  let length = 0;
  for await (const part of parts) {
    gathered.push(part);
    length += part.length;
    if (length < CHUNK) continue;
    yield Buffer.concat(gathered);
    [gathered, length] = [[], 0];
  }
  if (length > 0) yield Buffer.concat(gathered);
}
