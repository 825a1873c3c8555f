import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { dataSourceOptions } from '../../platform/database/data-source-options.js';
import { Problem } from '../../platform/errors/problem.js';
import { Snapshot } from './snapshot.js';

const MAX_AT_ONCE = 6;
/** Connections of an export: while one sends, the other reads ahead. */
const CONNECTIONS = 2;
/** An export may take as long as its client does, within limits. */
const TIMEOUT_MS = 30 * 60_000;
const RETRY_SECONDS = 10;

/** Exports have a pool of their own: slow clients take no connections from other requests. */
@Injectable()
export class Exports implements OnApplicationShutdown {
  private readonly db: DataSource;
  private opened: Promise<unknown> | undefined;
  private underWay = 0;

  constructor(config: Config) {
    const options = dataSourceOptions(config);
    const limits = {
      query_timeout: TIMEOUT_MS,
      statement_timeout: TIMEOUT_MS,
      idle_in_transaction_session_timeout: TIMEOUT_MS,
    };
    this.db = new DataSource({
      ...options,
      poolSize: MAX_AT_ONCE * CONNECTIONS,
      extra: { ...(options.extra as object), ...limits },
    });
  }

  /**
   * One state of the database, to be ended by the caller.
   *
   * @throws Problem 429 `export.busy` while six are running in this process.
   */
  async open(): Promise<Snapshot> {
    if (this.underWay >= MAX_AT_ONCE) throw busy();
    this.underWay += 1;
    const ended = () => {
      this.underWay -= 1;
    };
    try {
      this.opened ??= this.db.initialize();
      await this.opened;
      return await Snapshot.open(this.db, CONNECTIONS, ended);
    } catch (error) {
      if (!this.db.isInitialized) this.opened = undefined;
      ended();
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.db.isInitialized) await this.db.destroy();
  }
}

function busy(): Problem {
  const detail = `${MAX_AT_ONCE} exports are under way; ask again in ${RETRY_SECONDS} seconds.`;
  return new Problem('overloaded', 'export.busy', detail, { retryAfter: RETRY_SECONDS });
}
