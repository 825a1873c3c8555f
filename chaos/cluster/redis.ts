import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Network, NodeNumber } from './network.js';
import { Part } from './part.js';
import { until } from '../support/until.js';

const SETTLED_SECONDS = 60;

/** Redis on three machines, each with a sentinel. Two sentinels must agree that the master has failed. */
export class RedisCluster {
  private readonly servers: Part[] = [];
  private readonly sentinels: Part[] = [];

  constructor(
    private readonly network: Network,
    private readonly directory: string,
  ) {}

  async start(): Promise<void> {
    for (const node of this.network.nodes) {
      this.servers.push(this.server(node));
      this.sentinels.push(this.sentinel(node));
    }
    for (const part of [...this.servers, ...this.sentinels]) part.start();
    await this.settled();
  }

  parts(node: NodeNumber): Part[] {
    return [this.servers[node - 1], this.sentinels[node - 1]].filter((part) => part !== undefined);
  }

  get url(): string {
    const hosts = this.network.nodes.map((node) => `${this.network.address(node)}:26379`).join(',');
    return `redis+sentinel://${hosts}/main`;
  }

  /** Returns the master's machine according to the first sentinel that reports a master other than `old`. */
  async master(old?: NodeNumber): Promise<NodeNumber | undefined> {
    for (const node of this.network.nodes) {
      const [host] = (await this.ask(node, 26_379, ['SENTINEL', 'get-master-addr-by-name', 'main'])) as string[];
      const master = this.network.nodes.find((one) => this.network.address(one) === host);
      if (master !== undefined && master !== old) return master;
    }
    return undefined;
  }

  /** Waits until there is one master with two replicas. */
  async settled(): Promise<NodeNumber> {
    return until('Redis to have a master and two replicas', SETTLED_SECONDS, async () => {
      const master = await this.master();
      if (master === undefined) return undefined;
      const [role, , replicas] = (await this.ask(master, 6379, ['ROLE'])) as [string, number, unknown[]];
      return role === 'master' && replicas.length === 2 && master;
    });
  }

  async crash(node: NodeNumber): Promise<void> {
    await this.servers[node - 1]?.kill();
  }

  restart(node: NodeNumber): void {
    this.servers[node - 1]?.start();
  }

  freeze(node: NodeNumber): void {
    this.servers[node - 1]?.signal('SIGSTOP');
  }

  resume(node: NodeNumber): void {
    this.servers[node - 1]?.signal('SIGCONT');
  }

  async kill(): Promise<void> {
    for (const part of [...this.servers, ...this.sentinels]) {
      part.signal('SIGCONT');
      await part.kill();
    }
  }

  private async ask(node: NodeNumber, port: number, [command = '', ...args]: string[]): Promise<unknown> {
    const options = { lazyConnect: true, connectTimeout: 1000, commandTimeout: 1000, retryStrategy: () => null };
    const redis = new Redis({ host: this.network.address(node), port, ...options });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await redis.call(command, ...args);
    } catch {
      return [];
    } finally {
      redis.disconnect();
    }
  }

  private server(node: NodeNumber): Part {
    const first = node === 1 ? [] : [`replicaof ${this.network.address(1)} 6379`];
    const lines = ['port 6379', 'save ""', 'maxmemory-policy noeviction', 'repl-diskless-sync-delay 0', ...first];
    return this.part(node, 'redis', ['redis-server'], lines);
  }

  private sentinel(node: NodeNumber): Part {
    return this.part(
      node,
      'sentinel',
      ['redis-server', '--sentinel'],
      [
        'port 26379',
        `sentinel monitor main ${this.network.address(1)} 6379 2`,
        'sentinel down-after-milliseconds main 2000',
        'sentinel failover-timeout main 6000',
      ],
    );
  }

  private part(node: NodeNumber, kind: string, command: string[], lines: string[]): Part {
    const name = `${kind}-${node}`;
    const place = join(this.directory, name);
    mkdirSync(place, { mode: 0o700 });
    const file = join(place, `${kind}.conf`);
    const common = [`bind ${this.network.address(node)} 127.0.0.1`, 'protected-mode no', `dir ${place}`];
    writeFileSync(file, [...common, ...lines, ''].join('\n'));
    const [program = '', ...options] = command;
    return new Part({
      name,
      command: [...this.network.on(node), program, file, ...options],
      logFile: join(this.directory, 'logs', `${name}.log`),
    });
  }
}
