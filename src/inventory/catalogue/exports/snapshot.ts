import { Logger } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { stopQueryTimer, copiedTextsOf } from '../../../platform/database/copy.js';
import { collectAfter } from '../../../platform/observability/external-memory.js';

export interface CopyQuery {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** ReaderShare identifies one of several concurrent readers. */
export interface ReaderShare {
  readonly reader: number;
  readonly readers: number;
}

interface SnapshotConnection {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
}

/** Snapshot is a database snapshot that several connections read (an exported PostgreSQL snapshot). */
export class Snapshot {
  private readonly logger = new Logger(Snapshot.name);

  private constructor(
    private readonly connections: readonly SnapshotConnection[],
    private readonly ended: () => void,
  ) {}

  static async open(db: DataSource, count: number, ended: () => void): Promise<Snapshot> {
    const connections: SnapshotConnection[] = [];
    try {
      let name: string | undefined;
      while (connections.length < count) {
        const runner = db.createQueryRunner();
        connections.push({ runner, client: (await runner.connect()) as PoolClient });
        await runner.startTransaction('REPEATABLE READ');
        if (name !== undefined) await runner.query(`SET TRANSACTION SNAPSHOT '${name}'`);
        name ??= ((await runner.query('SELECT pg_export_snapshot() AS name')) as { name: string }[])[0]?.name;
      }
      return new Snapshot(connections, ended);
    } catch (error) {
      await end(connections);
      throw error;
    }
  }

  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.first.runner.query(text, [...values])) as Row[];
  }

  /** Makes the planner use indexes and join in index order, because the planner's statistics do not include recently written rows. */
  async readInOrder(): Promise<void> {
    for (const { runner } of this.connections)
      for (const way of OUT_OF_ORDER) await runner.query(`SET LOCAL enable_${way} = off`);
  }

  /** Returns the parts as a stream. Closing the stream ends the snapshot, because a client that disconnects early never reads the remaining parts. */
  stream(parts: AsyncIterable<string | Buffer>): Readable {
    const stream = Readable.from(parts, { objectMode: false });
    stream.once('error', (error) => this.logger.error(`an export was aborted: ${error.message}`));
    // A failure to end the snapshot does not affect the data already sent. The connections are released in any case.
    stream.once('close', () => void this.end().catch(() => undefined));
    return stream;
  }

  async end(): Promise<void> {
    try {
      await end(this.connections);
    } finally {
      this.ended();
    }
  }

  /** Yields the output of COPY for a query as it arrives. */
  async *copy(query: CopyQuery, format: string): AsyncGenerator<Buffer> {
    yield* copyOf(this.first, query, format);
  }

  /** Yields the text of each row followed by a newline, as it arrives. */
  async *texts(query: CopyQuery): AsyncGenerator<Buffer> {
    for await (const parts of copiedTextsOf(copyOf(this.first, query, BINARY))) yield Buffer.concat(parts);
  }

  /** Like `texts`, but each connection reads a share of the rows with its own queries. Texts alternate between the connections. */
  async *textsByTurns(shareOf: (share: ReaderShare) => readonly CopyQuery[]): AsyncGenerator<Buffer> {
    const readers = this.connections.length;
    const shares = this.connections.map(
      (connection, reader) => new ReadAhead(shareTexts(connection, shareOf({ reader, readers }))),
    );
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
    return this.connections[0] as SnapshotConnection;
  }
}

/** Plan node types that do not preserve the index order, or that compare every row with every other row. */
const OUT_OF_ORDER = ['seqscan', 'bitmapscan', 'sort', 'nestloop', 'hashjoin', 'hashagg'];

const BINARY = '(FORMAT binary)';

async function* shareTexts(connection: SnapshotConnection, queries: readonly CopyQuery[]): AsyncGenerator<Buffer[]> {
  for (const query of queries) yield* copiedTextsOf(copyOf(connection, query, BINARY));
}

/** Ends all connections, even if ending one of them fails, because a connection may not respond after its client has disconnected. */
async function end(connections: readonly SnapshotConnection[]): Promise<void> {
  const ends = await Promise.allSettled(connections.map(({ runner }) => endOf(runner)));
  for (const one of ends) if (one.status === 'rejected') throw one.reason;
}

async function endOf(runner: QueryRunner): Promise<void> {
  try {
    if (runner.isTransactionActive) await runner.rollbackTransaction();
  } finally {
    await runner.release();
  }
}

async function* copyOf(connection: SnapshotConnection, query: CopyQuery, format: string): AsyncGenerator<Buffer> {
  const text = await bound(connection.runner, query);
  const stream = connection.client.query(copyTo(`COPY (${text}) TO STDOUT ${format}`));
  let complete = false;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      collectAfter(chunk);
      yield chunk;
    }
    complete = true;
  } finally {
    stopQueryTimer(stream);
    // Closing the connection is the only way to stop a COPY before its end.
    if (!complete)
      (connection.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }
}

/** COPY does not accept parameters, so the database server quotes the values as literals. */
async function bound(runner: QueryRunner, { text, values }: CopyQuery): Promise<string> {
  if (values.length === 0) return text;
  const list = values.map((_, index) => `quote_literal($${index + 1}::text)`).join(', ');
  const texts = values.map((value) => (value instanceof Date ? value.toISOString() : String(value)));
  const [row] = (await runner.query(`SELECT ARRAY[${list}] AS literals`, texts)) as { literals: string[] }[];
  return text.replaceAll(/\$(\d+)/g, (_, number: string) => row?.literals[Number(number) - 1] ?? 'NULL');
}

/** ReadAhead requests the next item of a generator before the item is needed. */
class ReadAhead<Item> {
  private ahead: Promise<IteratorResult<Item, void>>;

  constructor(private readonly items: AsyncGenerator<Item, void, undefined>) {
    this.ahead = this.ask();
  }

  /** Returns the next item, or undefined if there are no more items. */
  async next(): Promise<Item | undefined> {
    const { value, done } = await this.ahead;
    if (done !== true) this.ahead = this.ask();
    return value ?? undefined;
  }

  /** Ends the generator and waits for the requested item. */
  async end(): Promise<void> {
    await Promise.allSettled([this.ahead, this.items.return()]);
  }

  private ask(): Promise<IteratorResult<Item, void>> {
    const asked = this.items.next();
    asked.catch(() => undefined); // reported when the result is awaited
    return asked;
  }
}
