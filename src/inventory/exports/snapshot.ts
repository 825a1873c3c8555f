import { Readable } from 'node:stream';
import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { stopQueryTimer } from '../../platform/database/copy-timer.js';
import { collectAfter } from '../../platform/memory/gc-pressure.js';
import { copiedTextsOf } from './copied-texts.js';
import { ReadAhead } from './read-ahead.js';

export interface CopyQuery {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Who of how many. */
export interface SnapshotTurn {
  readonly reader: number;
  readonly readers: number;
}

interface SnapshotConnection {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
}

/** One state of the database, seen by several connections, for as long as its reader takes. */
export class Snapshot {
  private constructor(
    private readonly lanes: readonly SnapshotConnection[],
    private readonly ended: () => void,
  ) {}

  static async open(db: DataSource, connections: number, ended: () => void): Promise<Snapshot> {
    const lanes: SnapshotConnection[] = [];
    try {
      let name: string | undefined;
      while (lanes.length < connections) {
        const runner = db.createQueryRunner();
        lanes.push({ runner, client: (await runner.connect()) as PoolClient });
        await runner.startTransaction('REPEATABLE READ');
        if (name !== undefined) await runner.query(`SET TRANSACTION SNAPSHOT '${name}'`);
        name ??= ((await runner.query('SELECT pg_export_snapshot() AS name')) as { name: string }[])[0]?.name;
      }
      return new Snapshot(lanes, ended);
    } catch (error) {
      await end(lanes);
      throw error;
    }
  }

  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.first.runner.query(text, [...values])) as Row[];
  }

  /**
   * Everything is read by index and joined in the order of the index, whatever the planner thinks: it knows nothing yet of what has just
   * come in.
   */
  async readInOrder(): Promise<void> {
    for (const { runner } of this.lanes)
      for (const way of OUT_OF_ORDER) await runner.query(`SET LOCAL enable_${way} = off`);
  }

  /**
   * These parts as a stream, with which the snapshot ends whatever becomes of it. The parts themselves may never be asked for: whoever wanted
   * them may be gone before they begin.
   */
  stream(parts: AsyncIterable<string | Buffer>): Readable {
    const stream = Readable.from(parts, { objectMode: false });
    // What goes wrong at the end takes nothing from what was sent; its connections are released all the same.
    stream.once('close', () => void this.end().catch(() => undefined));
    return stream;
  }

  async end(): Promise<void> {
    try {
      await end(this.lanes);
    } finally {
      this.ended();
    }
  }

  /** What COPY of a query sends, as it comes. */
  async *copy(query: CopyQuery, format: string): AsyncGenerator<Buffer> {
    yield* copyOf(this.first, query, format);
  }

  /** The one text of each row, as it comes, and a newline after it. */
  async *texts(query: CopyQuery): AsyncGenerator<Buffer> {
    for await (const parts of copiedTextsOf(copyOf(this.first, query, BINARY))) yield Buffer.concat(parts);
  }

  /** The same, but each connection reads its share by queries of its own, and they take turns, text by text. */
  async *textsByTurns(shareOf: (turn: SnapshotTurn) => readonly CopyQuery[]): AsyncGenerator<Buffer> {
    const readers = this.lanes.length;
    const shares = this.lanes.map((lane, reader) => new ReadAhead(shareTexts(lane, shareOf({ reader, readers }))));
    try {
      for (let turn = 0; ; turn = (turn + 1) % readers) {
        const parts = await shares[turn]?.next();
        if (parts === undefined) return;
        yield* parts;
      }
    } finally {
      await Promise.all(shares.map((share) => share.end()));
    }
  }

  private get first(): SnapshotConnection {
    return this.lanes[0] as SnapshotConnection;
  }
}

/** Ways of PostgreSQL to read and to join that lose the order of an index, or compare each with each. */
const OUT_OF_ORDER = ['seqscan', 'bitmapscan', 'sort', 'nestloop', 'hashjoin', 'hashagg'];

const BINARY = '(FORMAT binary)';

async function* shareTexts(lane: SnapshotConnection, queries: readonly CopyQuery[]): AsyncGenerator<Buffer[]> {
  for (const query of queries) yield* copiedTextsOf(copyOf(lane, query, BINARY));
}

/** Each of them, whatever becomes of the others: a reader that went away leaves a connection that answers no more. */
async function end(lanes: readonly SnapshotConnection[]): Promise<void> {
  const ends = await Promise.allSettled(lanes.map(({ runner }) => endOf(runner)));
  for (const one of ends) if (one.status === 'rejected') throw one.reason;
}

async function endOf(runner: QueryRunner): Promise<void> {
  try {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
  } finally {
    await runner.release();
  }
}

async function* copyOf(lane: SnapshotConnection, query: CopyQuery, format: string): AsyncGenerator<Buffer> {
  const text = await bound(lane.runner, query);
  const stream = lane.client.query(copyTo(`COPY (${text}) TO STDOUT ${format}`));
  let complete = false;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      collectAfter(chunk);
      yield chunk;
    }
    complete = true;
  } finally {
    stopQueryTimer(stream);
    // A reader that went away leaves a COPY under way: only the end of the connection stops it.
    if (!complete)
      (lane.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }
}

/** COPY takes no parameters: the server itself writes the values into the text as literals. */
async function bound(runner: QueryRunner, { text, values }: CopyQuery): Promise<string> {
  if (values.length === 0) return text;
  const list = values.map((_, index) => `quote_literal($${index + 1}::text)`).join(', ');
  const texts = values.map((value) => (value instanceof Date ? value.toISOString() : String(value)));
  const [row] = (await runner.query(`SELECT ARRAY[${list}] AS literals`, texts)) as { literals: string[] }[];
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => row?.literals[Number(number) - 1] ?? 'NULL');
}
