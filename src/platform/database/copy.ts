import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate as nextEventLoopTurn } from 'node:timers/promises';
import { bufferBehind, CopyRows } from './copy-rows.js';

const CHUNK_BYTES = 64 * 1024;
/** Space for the row that completes a chunk. Most rows fit into this space. */
const ROW_BYTES = 16 * 1024;
/** Maximum amount of encoded data that the database has not yet read. */
const MAX_AHEAD_BYTES = 4 * 1024 * 1024;

/**
 * copyInto copies rows into a table, in the order of the items. The database processes rows while the next rows are encoded.
 *
 * @param table table name, with a column list unless all columns are written
 * @param write encodes the rows of an item; an exception aborts the COPY and its transaction
 * @returns number of items
 */
export async function copyInto<Item>(
  client: PoolClient,
  table: string,
  items: Iterable<Item>,
  write: (to: CopyRows, item: Item) => void,
): Promise<number> {
  const stream = client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT binary)`, { highWaterMark: MAX_AHEAD_BYTES }));
  const done = finished(stream);
  // Without the call to destroy, a COPY that the database rejected would continue to write to the connection.
  stream.once('error', () => stream.destroy());
  // The await below reports a failure. Until then, the rejection must not be treated as unhandled.
  done.catch(() => undefined);
  let count = 0;
  try {
    const free: Buffer[] = [];
    const sent: Buffer[] = [];
    const rows = CopyRows.begin(CHUNK_BYTES + ROW_BYTES, free);
    for (const item of items) {
      write(rows, item);
      count += 1;
      if (rows.length < CHUNK_BYTES) continue;
      const chunk = rows.take();
      sent.push(chunk);
      const isBelowLimit = stream.write(chunk);
      await (isBelowLimit ? nextEventLoopTurn() : Promise.race([once(stream, 'drain'), done]));
      // If neither the stream nor the socket has buffered data, the kernel has all chunks and their buffers can be reused.
      if (stream.writableLength === 0 && socketOf(client).writableLength === 0)
        for (const one of sent.splice(0)) free.push(...bufferBehind(one, CHUNK_BYTES + ROW_BYTES));
    }
    stream.end(rows.last());
  } catch (error) {
    stream.destroy(error as Error);
    // The original error is more specific than the database's response.
    await done.catch(() => undefined);
    throw error;
  }
  await done;
  stopQueryTimer(stream);
  return count;
}

/** Returns the socket of a connection, which the client's type does not declare. */
function socketOf(client: PoolClient): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream;
}

/** stopQueryTimer stops the timer that pg starts for every query. pg stops the timer in a callback that COPY streams do not call. */
export function stopQueryTimer(stream: object): void {
  (stream as { callback?: () => void }).callback?.();
}

/** Signature, flags and length of the empty header extension (PostgreSQL manual, COPY, "Binary Format"). */
const HEADER_BYTES = 19;
const FIELD_COUNT_BYTES = 2;
/** Before each value: number of fields (-1 at the end) and number of bytes (-1 for NULL). */
const BEFORE_TEXT_BYTES = 6;
const NEWLINE = Buffer.from('\n');

/** copiedTextsOf yields the values of a binary COPY of one text column. Each value consists of its received parts and a newline; NULL has no parts. */
export async function* copiedTextsOf(copied: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let rest = Buffer.alloc(0);
  let skipped = HEADER_BYTES;
  let left = 0;
  let text: Buffer[] = [];
  let ended = false;
  for await (const chunk of copied) {
    if (ended) continue; // reads to the end, because the connection cannot be reused otherwise
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = Math.min(skipped, data.length);
    skipped -= at;
    for (;;) {
      if (left > 0) {
        const part = data.subarray(at, at + left);
        if (part.length === 0) break;
        text.push(part);
        [at, left] = [at + part.length, left - part.length];
        if (left === 0) {
          text.push(NEWLINE);
          yield text;
          text = [];
        }
      } else {
        const length = data.length - at;
        if (length < FIELD_COUNT_BYTES || (length < BEFORE_TEXT_BYTES && data.readInt16BE(at) > 0)) break;
        ended = data.readInt16BE(at) < 0;
        if (ended) break;
        left = data.readInt32BE(at + FIELD_COUNT_BYTES);
        at += BEFORE_TEXT_BYTES;
        if (left <= 0) yield [];
      }
    }
    rest = Buffer.from(data.subarray(at));
  }
}
