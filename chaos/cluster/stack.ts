import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Entrance } from './entrance.js';
import { Network, type NodeNumber } from './network.js';
import type { Part } from './part.js';
import { PostgresCluster } from './postgres.js';
import { RedisCluster } from './redis.js';
import { ServiceCluster } from './service.js';

/**
 * Number of the machine whose processes connect to the database with a list of hosts. Processes on the other two machines connect through HAProxy and
 * pgbouncer.
 */
const BY_HOSTS: NodeNumber = 3;

/** A complete distributed installation: three machines, each of which runs all parts. */
export class Stack {
  readonly directory = mkdtempSync(join(tmpdir(), 'sealwright-cluster-'));
  readonly network = new Network();
  readonly postgres: PostgresCluster;
  readonly redis: RedisCluster;
  readonly service: ServiceCluster;
  private readonly entrance: Entrance;

  constructor(private readonly isSynchronous: boolean) {
    // PostgreSQL and pgbouncer run under separate accounts.
    chmodSync(this.directory, 0o755);
    mkdirSync(join(this.directory, 'logs'));
    this.postgres = new PostgresCluster(this.network, this.directory, isSynchronous);
    this.redis = new RedisCluster(this.network, this.directory);
    this.entrance = new Entrance(this.network, this.directory, this.postgres.password);
    this.service = new ServiceCluster(this.network, this.directory, {
      database: (node) => (node === BY_HOSTS ? this.postgres.url : this.entrance.url),
      redis: this.redis.url,
      replication: this.isSynchronous ? 'required' : 'any',
    });
  }

  async start(): Promise<void> {
    this.network.open();
    await Promise.all([this.postgres.start(), this.redis.start()]);
    this.entrance.start();
    await this.service.start();
  }

  /** Returns the programs on a machine in stop order. PostgreSQL is controlled by Patroni. */
  parts(node: NodeNumber): Part[] {
    const stores = [...this.redis.parts(node), ...this.postgres.parts(node)];
    return [...this.service.parts(node), ...this.entrance.parts(node), ...stores];
  }

  /**
   * Stops everything.
   * @param logs directory to which the logs of all programs are copied
   */
  async close(logs?: string): Promise<void> {
    await this.service.kill();
    await this.entrance.kill();
    await this.redis.kill();
    await this.postgres.kill();
    this.network.close();
    if (logs !== undefined) cpSync(join(this.directory, 'logs'), logs, { recursive: true });
    rmSync(this.directory, { recursive: true, force: true });
  }
}
