import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Network, NodeNumber } from './network.js';
import { Part } from './part.js';

/** Port at which a process reaches the database on its own machine. */
const PORT = 5000;
const POOLER_PORT = 6432;

/**
 * The layers commonly used between a service process and PostgreSQL: HAProxy on the process's machine, which queries Patroni for the leader, and
 * pgbouncer in front of each server.
 */
export class Entrance {
  private readonly proxies: Part[] = [];
  private readonly poolers: Part[] = [];

  constructor(
    private readonly network: Network,
    private readonly directory: string,
    private readonly password: string,
  ) {}

  start(): void {
    for (const node of this.network.nodes) {
      this.proxies.push(this.proxy(node));
      this.poolers.push(this.pooler(node));
    }
    for (const part of [...this.poolers, ...this.proxies]) part.start();
  }

  parts(node: NodeNumber): Part[] {
    return [this.poolers[node - 1], this.proxies[node - 1]].filter((part) => part !== undefined);
  }

  get url(): string {
    return `postgresql://sealwright:${this.password}@127.0.0.1:${PORT}/sealwright`;
  }

  async kill(): Promise<void> {
    for (const part of [...this.proxies, ...this.poolers]) await part.kill();
  }

  private proxy(node: NodeNumber): Part {
    const servers = this.network.nodes.map(
      (one) => `  server n${one} ${this.network.address(one)}:${POOLER_PORT} check port 8008`,
    );
    const lines = [
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 30m',
      '  timeout server 30m',
      '  timeout check 2s',
      'listen database',
      `  bind 127.0.0.1:${PORT}`,
      '  option httpchk OPTIONS /primary',
      '  http-check expect status 200',
      '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
      ...servers,
      '',
    ];
    const file = this.write(node, 'haproxy.cfg', lines);
    return this.part(node, 'haproxy', ['haproxy', '-db', '-f', file]);
  }

  private pooler(node: NodeNumber): Part {
    const file = this.write(node, 'pgbouncer.ini', [
      '[databases]',
      `sealwright = host=127.0.0.1 port=5432 user=sealwright password=${this.password}`,
      '[pgbouncer]',
      `listen_addr = ${this.network.address(node)}`,
      `listen_port = ${POOLER_PORT}`,
      'auth_type = any',
      'unix_socket_dir =',
      'pool_mode = session',
      'default_pool_size = 100',
      'max_client_conn = 300',
      'server_login_retry = 1',
      'server_connect_timeout = 3',
      '',
    ]);
    // Runs pgbouncer as the user `nobody`, because pgbouncer refuses to run as root.
    return this.part(node, 'pgbouncer', ['pgbouncer', '-q', '-u', 'nobody', file]);
  }

  private part(node: NodeNumber, kind: string, command: readonly string[]): Part {
    const name = `${kind}-${node}`;
    const logFile = join(this.directory, 'logs', `${name}.log`);
    return new Part({ name, command: [...this.network.on(node), ...command], logFile });
  }

  private write(node: NodeNumber, name: string, lines: readonly string[]): string {
    const place = join(this.directory, `entrance-${node}`);
    mkdirSync(place, { recursive: true, mode: 0o755 });
    const file = join(place, name);
    writeFileSync(file, lines.join('\n'), { mode: 0o644 });
    return file;
  }
}
