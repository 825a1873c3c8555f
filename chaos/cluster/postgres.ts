import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { allPids, signal } from '../signing/processes.js';
import type { Network, NodeNumber } from './network.js';
import { Part } from './part.js';
import { until } from '../support/until.js';

const BINARIES = '/usr/lib/postgresql';
/** The shortest times that satisfy loop_wait + 2 × retry_timeout ≤ ttl and are long enough for a small machine. */
const TIMES = { ttl: 10, loop_wait: 1, retry_timeout: 4 };
const SETTLED_SECONDS = 240;
/** Time after which a member that cannot start is reinitialized from the leader, as an operator would do. */
const STUCK_MS = 20_000;

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** PostgreSQL on three machines under Patroni, with etcd. */
export class PostgresCluster {
  readonly password = randomBytes(18).toString('hex');
  /** Number of times a member that could not start was reinitialized. */
  remade = 0;
  private readonly etcds: Part[] = [];
  private readonly patronis: Part[] = [];
  private readonly stuckSince = new Map<NodeNumber, number>();

  constructor(
    private readonly network: Network,
    private readonly directory: string,
    private readonly isSynchronous: boolean,
  ) {}

  async start(): Promise<void> {
    for (const node of this.network.nodes) {
      this.etcds.push(this.etcd(node));
      this.patronis.push(this.patroni(node));
    }
    for (const etcd of this.etcds) etcd.start();
    for (const patroni of this.patronis) patroni.start();
    await this.settled();
    await this.createDatabase();
  }

  parts(node: NodeNumber): Part[] {
    return [this.etcds[node - 1], this.patronis[node - 1]].filter((part) => part !== undefined);
  }

  /** Returns the multi-host URL in the format that libpq and the service accept. */
  get url(): string {
    const hosts = this.network.nodes.map((node) => `${this.network.address(node)}:5432`).join(',');
    return `postgresql://sealwright:${this.password}@${hosts}/sealwright`;
  }

  /** Returns the leader's machine, or undefined unless exactly one machine claims to be the leader. */
  async leader(): Promise<NodeNumber | undefined> {
    const leaders = await this.leaders();
    return leaders.length === 1 ? leaders[0] : undefined;
  }

  /** Returns a machine other than `old` that claims to be the leader, if any. */
  async leaderBeside(old: NodeNumber): Promise<NodeNumber | undefined> {
    return (await this.leaders()).find((node) => node !== old);
  }

  private async leaders(): Promise<NodeNumber[]> {
    const asked = this.network.nodes.map(async (node) => {
      const response = await this.ask(node, 'GET', '/primary');
      return response?.status === 200 ? [node] : [];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Waits for a leader, two followers and, if replication is synchronous, one synchronous follower. Returns the leader. */
  async settled(): Promise<NodeNumber> {
    return until('PostgreSQL to have a leader and members that follow', SETTLED_SECONDS, async () => {
      const leader = await this.leader();
      if (leader === undefined) return undefined;
      const response = await this.ask(leader, 'GET', '/cluster');
      if (response === undefined) return undefined;
      const { members } = (await response.json()) as { members: Member[] };
      await this.remakeStuck(members);
      const following = members.filter(({ role, state }) => role !== 'leader' && /running|streaming/.test(state));
      const synchronous = following.filter(({ role }) => role === 'sync_standby');
      return following.length === 2 && synchronous.length >= (this.isSynchronous ? 1 : 0) && leader;
    });
  }

  /** Runs `patronictl reinit` for members that crash at every start. */
  private async remakeStuck(members: readonly Member[]): Promise<void> {
    for (const node of this.network.nodes) {
      const { state = '' } = members.find(({ name }) => name === nameOf(node)) ?? {};
      if (!/crashed|start failed/.test(state)) this.stuckSince.delete(node);
      else if (!this.stuckSince.has(node)) this.stuckSince.set(node, performance.now());
      else if (performance.now() - (this.stuckSince.get(node) ?? 0) > STUCK_MS) {
        this.stuckSince.delete(node);
        this.remade += 1;
        await this.ask(node, 'POST', '/reinitialize', { force: true }, 10_000);
      }
    }
  }

  /** Kills Patroni and all PostgreSQL processes with SIGKILL. */
  async crash(node: NodeNumber): Promise<void> {
    await this.patronis[node - 1]?.kill();
    for (const pid of this.serverProcesses(node)) signal(pid, 'SIGKILL');
  }

  restart(node: NodeNumber): void {
    this.patronis[node - 1]?.start();
  }

  /** Performs a planned switchover. */
  async switchOver(leader: NodeNumber): Promise<void> {
    await this.ask(leader, 'POST', '/switchover', { leader: nameOf(leader) }, 60_000);
  }

  async sql<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const leader = await this.settled();
    return this.query(leader, 'sealwright', text, values);
  }

  /** Kills all servers with their child processes. */
  async kill(): Promise<void> {
    for (const node of this.network.nodes) {
      await this.crash(node);
      await this.etcds[node - 1]?.kill();
    }
  }

  /** Returns the process IDs of the postmaster and backends, whose working directory is the data directory. */
  private serverProcesses(node: NodeNumber): number[] {
    const data = this.place(node, 'data');
    return allPids().filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === data;
      } catch {
        return false;
      }
    });
  }

  private async ask(node: NodeNumber, method: string, path: string, body?: object, limitMs = 1500) {
    return fetch(`http://${this.network.address(node)}:8008${path}`, {
      method,
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(limitMs),
    }).catch(() => undefined);
  }

  private async createDatabase(): Promise<void> {
    const leader = await this.settled();
    const run = (text: string) => this.query(leader, 'postgres', text);
    await run(`CREATE ROLE sealwright LOGIN PASSWORD '${this.password}'`);
    await run('CREATE DATABASE sealwright OWNER sealwright');
    await sleep(1000);
  }

  /** Connects as the user that has the same name as the database. */
  private async query<Row extends object>(
    node: NodeNumber,
    user: 'sealwright' | 'postgres',
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    const { password } = this;
    const client = new Client({ host: this.network.address(node), port: 5432, user, password, database: user });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  private etcd(node: NodeNumber): Part {
    const data = join(this.directory, `etcd-${node}`);
    mkdirSync(data, { mode: 0o700 });
    const at = (one: NodeNumber, port: number) => `http://${this.network.address(one)}:${port}`;
    const members = this.network.nodes.map((one) => `${nameOf(one)}=${at(one, 2380)}`).join(',');
    const settings = {
      name: nameOf(node),
      'data-dir': data,
      'listen-peer-urls': at(node, 2380),
      'initial-advertise-peer-urls': at(node, 2380),
      'listen-client-urls': at(node, 2379),
      'advertise-client-urls': at(node, 2379),
      'initial-cluster': members,
      'heartbeat-interval': '100',
      'election-timeout': '1000',
      'pre-vote': 'true',
      'enable-v2': 'true',
      'log-level': 'warn',
    };
    const options = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const command = [...this.network.on(node), 'etcd', ...options];
    return new Part({ name: `etcd-${node}`, command, logFile: this.log(`etcd-${node}`) });
  }

  private patroni(node: NodeNumber): Part {
    const place = this.place(node);
    mkdirSync(place, { mode: 0o700 });
    const file = join(place, 'patroni.json');
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify(this.patroniSettings(node), null, 2), { mode: 0o600 });
    execFileSync('chown', ['-R', 'postgres:postgres', place]);
    const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];
    return new Part({
      name: `patroni-${node}`,
      command: [...this.network.on(node), ...asPostgres, 'patroni', file],
      logFile: this.log(`patroni-${node}`),
      env: { LC_ALL: 'C.UTF-8' },
    });
  }

  private patroniSettings(node: NodeNumber): object {
    const { network, password } = this;
    const address = network.address(node);
    const access = ['host all all all scram-sha-256', 'host replication all all scram-sha-256'];
    const user = (username: string) => ({ username, password });
    return {
      scope: 'sealwright',
      name: nameOf(node),
      restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
      etcd: { hosts: network.nodes.map((one) => `${network.address(one)}:2379`) },
      bootstrap: {
        dcs: {
          ...TIMES,
          primary_start_timeout: 0,
          synchronous_mode: this.isSynchronous,
          postgresql: { use_pg_rewind: false, use_slots: true, parameters: SERVER_SETTINGS },
        },
        initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C.UTF-8' }],
        pg_hba: access,
      },
      postgresql: {
        listen: '0.0.0.0:5432',
        connect_address: `${address}:5432`,
        data_dir: this.place(node, 'data'),
        bin_dir: binaries(),
        pgpass: this.place(node, 'pgpass'),
        authentication: { superuser: user('postgres'), replication: user('replicator'), rewind: user('rewinder') },
        parameters: { unix_socket_directories: this.place(node) },
        pg_hba: access,
        // A former leader with unconfirmed data is cloned again, which is safer than pg_rewind and fast for a small database.
        remove_data_directory_on_diverged_timelines: true,
      },
    };
  }

  private place(node: NodeNumber, ...names: string[]): string {
    return join(this.directory, `postgres-${node}`, ...names);
  }

  private log(name: string): string {
    return join(this.directory, 'logs', `${name}.log`);
  }
}

const SERVER_SETTINGS = {
  max_connections: 150,
  shared_buffers: '64MB',
  wal_keep_size: '256MB',
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
};

function nameOf(node: NodeNumber): string {
  return `n${node}`;
}

/** Returns the directory of the newest version installed from Debian's packages. */
function binaries(): string {
  const [newest] = readdirSync(BINARIES).toSorted((a, b) => Number(b) - Number(a));
  return join(BINARIES, newest ?? '', 'bin');
}
