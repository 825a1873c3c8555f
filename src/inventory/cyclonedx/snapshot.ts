import type { PoolClient } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { DataSource, QueryRunner } from 'typeorm';
import { stopQueryTimer, type TimedQuery } from './copy-stream.js';

/** A download may take as long as its reader does, within reason. */
const TIMEOUT_MS = 30 * 60_000;

export interface CopyQuery {
  readonly text: string;
  readonly values: unknown[];
}

/** One state of the database, read for as long as it takes; to be ended by whoever opened it. */
export class Snapshot {
  private constructor(
    readonly runner: QueryRunner,
    private readonly client: PoolClient,
  ) {}

  static async open(db: DataSource): Promise<Snapshot> {
    const runner = db.createQueryRunner();
    try {
      const client = (await runner.connect()) as PoolClient;
      await runner.startTransaction('REPEATABLE READ');
      await runner.query(`SET LOCAL statement_timeout = ${TIMEOUT_MS}`);
      await runner.query(`SET LOCAL idle_in_transaction_session_timeout = ${TIMEOUT_MS}`);
      return new Snapshot(runner, client);
    } catch (error) {
      await runner.release();
      throw error;
    }
  }

  /**
   * What is asked from now on is read in the order of its indexes and sent as it is found. The planner would rather sort, for which
   * all of it, wide as it is, is written to disk before the first row goes out.
   */
  async readInOrder(): Promise<void> {
    for (const setting of ['enable_sort', 'enable_hashjoin']) await this.runner.query(`SET LOCAL ${setting} = off`);
    await this.runner.query('SET LOCAL max_parallel_workers_per_gather = 0');
  }

  async end(): Promise<void> {
    try {
      if (this.runner.isTransactionActive) await this.runner.rollbackTransaction();
    } finally {
      await this.runner.release();
    }
  }

  /** What COPY of a query sends, as it comes. */
  async *copy(query: CopyQuery, format: string): AsyncGenerator<Buffer> {
    const text = await this.bound(query);
    const copy = copyTo(`COPY (${text}) TO STDOUT ${format}`) as ReturnType<typeof copyTo> & TimedQuery;
    copy.query_timeout = TIMEOUT_MS;
    const stream = this.client.query(copy);
    let complete = false;
    try {
      yield* stream as AsyncIterable<Buffer>;
      complete = true;
    } finally {
      stopQueryTimer(stream);
      // A reader that went away leaves a COPY under way: only the end of the connection stops it.
      if (!complete)
        (this.client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    }
  }

  /** COPY takes no parameters: the server itself writes the values into the text as literals. */
  private async bound({ text, values }: CopyQuery): Promise<string> {
    if (values.length === 0) return text;
    const list = values.map((_, index) => `quote_literal($${index + 1}::text)`).join(', ');
    const texts = values.map((value) => (value instanceof Date ? value.toISOString() : String(value)));
    const [row] = (await this.runner.query(`SELECT ARRAY[${list}] AS literals`, texts)) as { literals: string[] }[];
    return text.replaceAll(/\$(\d+)/g, (_, number: string) => row?.literals[Number(number) - 1] ?? 'NULL');
  }
}
