import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Problem } from '../../../platform/errors/problem.js';
import { ReadReplica, type ReadSource } from '../../../platform/instances/read-replica.js';
import { Snapshot } from './snapshot.js';

const MAX_AT_ONCE = 6;
/** Maximum number of concurrent exports per caller, so that a client that stops reading does not block other callers. */
const MAX_PER_CALLER = 2;
/** CONNECTIONS is the number of connections per export. While the result of one connection is sent, the other connection reads ahead. */
const CONNECTIONS = 2;
/** TIMEOUT_MS is the export timeout. Without a timeout, a slow client could keep an export open indefinitely. */
const TIMEOUT_MS = 30 * 60_000;
const RETRY_SECONDS = 10;

const LIMITS = {
  query_timeout: TIMEOUT_MS,
  statement_timeout: TIMEOUT_MS,
  idle_in_transaction_session_timeout: TIMEOUT_MS,
};

/** ExportSnapshots opens snapshots in separate connection pools, so that slow clients do not occupy connections that other requests need. */
@Injectable()
export class ExportSnapshots implements OnApplicationShutdown {
  private readonly pools = new Map<ReadSource, Promise<DataSource>>();
  /** Principals of the running exports, one entry for each export. */
  private readonly underWay: string[] = [];

  constructor(private readonly replica: ReadReplica) {}

  /**
   * Opens a snapshot of the database. The caller must end the snapshot after use.
   *
   * @param principal principal whose limit on concurrent exports applies
   * @throws Problem 429 `export.busy` while this process runs six exports, or two for the same principal
   */
  async open(principal = ''): Promise<Snapshot> {
    const own = this.underWay.filter((one) => one === principal);
    if (own.length >= MAX_PER_CALLER) throw busy(`${MAX_PER_CALLER} of your exports`);
    if (this.underWay.length >= MAX_AT_ONCE) throw busy(`${MAX_AT_ONCE} exports`);
    this.underWay.push(principal);
    const ended = () => {
      this.underWay.splice(this.underWay.indexOf(principal), 1);
    };
    try {
      return await Snapshot.open(await this.pool(this.replica.source), CONNECTIONS, ended);
    } catch (error) {
      ended();
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    const pools = await Promise.allSettled(this.pools.values());
    for (const pool of pools) if (pool.status === 'fulfilled') await pool.value.destroy();
  }

  /** Opens the pool on first use, and retries after a failure. */
  private async pool(source: ReadSource): Promise<DataSource> {
    const known = this.pools.get(source);
    if (known !== undefined) return known;
    const { options } = source;
    const limits = { poolSize: MAX_AT_ONCE * CONNECTIONS, extra: { ...(options.extra as object), ...LIMITS } };
    const opened = new DataSource({ ...options, ...limits }).initialize();
    this.pools.set(source, opened);
    opened.catch(() => this.pools.delete(source));
    return opened;
  }
}

function busy(which: string): Problem {
  const detail = `${which} are already running. Retry in ${RETRY_SECONDS} seconds.`;
  return new Problem('overloaded', 'export.busy', detail, { retryAfter: RETRY_SECONDS });
}
