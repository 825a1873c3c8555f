import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { dataSourceOptions } from '../../platform/database/data-source-options.js';
import { Problem } from '../../platform/errors/problem.js';
import { Snapshot } from './snapshot.js';

const MAX_AT_ONCE = 6;
/** Connections of each: while one sends, the other reads ahead. */
const LANES = 2;
/** An export may take as long as its reader does, within reason. */
const TIMEOUT_MS = 30 * 60_000;
const RETRY_SECONDS = 10;

/** Exports have connections of their own: readers who are slow leave everybody else theirs. */
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
      poolSize: MAX_AT_ONCE * LANES,
      extra: { ...(options.extra as object), ...limits },
    });
  }

  /**
   * One state of the database, to be ended by whoever asked for it.
   *
   * @throws Problem 429 `export.busy` while six are under way in this process.
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
      return await Snapshot.open(this.db, LANES, ended);
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
