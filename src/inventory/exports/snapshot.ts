import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { stopQueryTimer } from '../../platform/database/copy-timer.js';
import { textsOf } from './copied-texts.js';

export interface CopyQuery {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface Lane {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
}

/** One state of the database, seen by several connections, for as long as its reader takes. */
export class Snapshot {
  private constructor(
    private readonly lanes: readonly Lane[],
    private readonly ended: () => void,
  ) {}

  static async open(db: DataSource, connections: number, ended: () => void): Promise<Snapshot> {
    const lanes: Lane[] = [];
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
   * Small parts are read by index and joined without comparing each with each, whatever the planner thinks: it knows nothing yet of what
   * has just come in.
   */
  async readInParts(): Promise<void> {
    for (const { runner } of this.lanes)
      for (const way of ['seqscan', 'nestloop']) await runner.query(`SET LOCAL enable_${way} = off`);
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
    yield* textsOf(copyOf(this.first, query, BINARY));
  }

  /** The same of many queries, each short enough for memory, one after the other. While one is sent, the next are read ahead. */
  async *textsInTurn(queries: readonly CopyQuery[]): AsyncGenerator<Buffer> {
    const ahead: Promise<Buffer[]>[] = [];
    const begin = (index: number): void => {
      const [query, lane] = [queries[index], this.lanes[index % this.lanes.length]];
      if (query === undefined || lane === undefined) return;
      const texts = all(textsOf(copyOf(lane, query, BINARY)));
      texts.catch(() => undefined); // heard of when its turn comes
      ahead.push(texts);
    };
    this.lanes.forEach((_, index) => begin(index));
    try {
      for (let index = 0; index < queries.length; index += 1) {
        const texts = (await ahead.shift()) ?? [];
        begin(index + this.lanes.length);
        yield* texts;
      }
    } finally {
      await Promise.allSettled(ahead);
    }
  }

  private get first(): Lane {
    return this.lanes[0] as Lane;
  }
}

const BINARY = '(FORMAT binary)';

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Each of them, whatever becomes of the others: a reader that went away leaves a connection that answers no more. */
async function end(lanes: readonly Lane[]): Promise<void> {
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

async function* copyOf(lane: Lane, query: CopyQuery, format: string): AsyncGenerator<Buffer> {
  const text = await bound(lane.runner, query);
  const stream = lane.client.query(copyTo(`COPY (${text}) TO STDOUT ${format}`));
  let complete = false;
  try {
    yield* stream as AsyncIterable<Buffer>;
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
