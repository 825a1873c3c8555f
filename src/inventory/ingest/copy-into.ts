import type { PoolClient } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { stopQueryTimer } from '../../platform/database/copy-timer.js';
import { CopyRows, memoryOf } from './copy-rows.js';

const CHUNK = 64 * 1024;
/** Bytes for the row that fills a chunk: most are no longer. */
const ROOM = 16 * 1024;
/** Bytes that are made while the database works on others. */
const AHEAD = 4 * 1024 * 1024;

/**
 * Copies rows into a table, in the order of the items; the database works on what it has while the next rows are made.
 *
 * @param table with its columns, when not all are written.
 * @param write writes the rows of an item; what it throws ends the COPY, and with it the transaction.
 * @returns the number of items.
 */
export async function copyInto<Item>(
  client: PoolClient,
  table: string,
  items: Iterable<Item>,
  write: (to: CopyRows, item: Item) => void,
): Promise<number> {
  const stream = client.query(copyFrom(`COPY ${table} FROM STDIN (FORMAT binary)`, { highWaterMark: AHEAD }));
  const done = finished(stream);
  // What the database refuses ends the stream, which would else go on writing to a connection that it no longer has.
  stream.once('error', () => stream.destroy());
  // A failure is heard by the await below; until then it must not count as unhandled.
  done.catch(() => undefined);
  let count = 0;
  try {
    const spare: Buffer[] = [];
    const given: Buffer[] = [];
    const to = CopyRows.begin(CHUNK + ROOM, spare);
    for (const item of items) {
      write(to, item);
      count += 1;
      if (to.length < CHUNK) continue;
      const chunk = to.take();
      given.push(chunk);
      const hasRoom = stream.write(chunk);
      await (hasRoom ? turn() : Promise.race([once(stream, 'drain'), done]));
      // What waits nowhere any more is with the system.
      if (stream.writableLength === 0 && socketOf(client).writableLength === 0)
        for (const sent of given.splice(0)) spare.push(...memoryOf(sent, CHUNK + ROOM));
    }
    stream.end(to.last());
  } catch (error) {
    stream.destroy(error as Error);
    // The answer of the database says less than the error itself.
    await done.catch(() => undefined);
    throw error;
  }
  await done;
  stopQueryTimer(stream);
  return count;
}

/** Of a connection; the type of the client does not tell of it. */
function socketOf(client: PoolClient): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream;
}
