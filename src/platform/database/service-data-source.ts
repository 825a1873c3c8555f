import { DataSource, type DataSourceOptions, type EntityManager } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';

/** Connections that transactions leave free for single statements. */
const RESERVED = 2;
/** Maximum time that a transaction waits for its turn. */
const PATIENCE_MS = 5000;

type Work<Result> = (tx: EntityManager) => Promise<Result>;

/**
 * ServiceDataSource limits the number of concurrent transactions to less than the size of the pool. A transaction may need the result of a statement on a
 * second connection, for example the audit log entries that other transactions committed. If waiting transactions held all connections, that statement would
 * never run.
 */
export class ServiceDataSource extends DataSource {
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor(options: DataSourceOptions) {
    super(options);
    this.free = Math.max(1, (options.poolSize ?? 0) - RESERVED);
  }

  override transaction<Result>(work: Work<Result>): Promise<Result>;
  override transaction<Result>(isolation: IsolationLevel, work: Work<Result>): Promise<Result>;
  override async transaction<Result>(
    first: IsolationLevel | Work<Result>,
    second?: Work<Result>,
  ): Promise<Result | undefined> {
    await this.turn();
    try {
      if (typeof first === 'function') return await super.transaction(first);
      return second === undefined ? undefined : await super.transaction(first, second);
    } finally {
      this.pass();
    }
  }

  private async turn(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(start), 1);
        reject(new Error('timeout exceeded when trying to connect: the limit of concurrent transactions is reached'));
      }, PATIENCE_MS);
      this.waiting.push(start);
    });
  }

  private pass(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
