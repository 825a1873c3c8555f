import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createToken } from '../../scripts/lib/softhsm.mjs';
import { runToEnd, startService } from '../../test/support/service.js';
import { digestOf } from '../../test/support/signing.js';
import { DIST } from '../signing/controls.js';
import type { Network, NodeNumber } from './network.js';
import { Part } from './part.js';
import { until } from '../support/until.js';

const PORT = 9090;
const MANAGEMENT_PORT = 9091;
const START_LIMIT_MS = 120_000;
const STARTED = /listening on http|working in the background/;
/** Public URL of all machines, from which the log's name is derived. */
const PUBLIC_URL = 'http://sealwright.test';

/** Addresses of the stores as seen from the process's machine. */
export interface Stores {
  readonly database: (node: NodeNumber) => string;
  readonly redis: string;
  /** Value of SVC_DATABASE_REPLICATION. */
  readonly replication: 'any' | 'required';
}

interface Token {
  readonly conf: string;
  readonly pinFile: string;
}

type Role = 'api' | 'worker';

/** An api and a worker on each machine, and two tokens that hold the same keys, as if an HSM had replicated them. */
export class ServiceCluster {
  apiKey = '';
  private readonly tokens: Token[] = [];
  private readonly processes = new Map<string, Part>();
  private readonly secret = randomBytes(32).toString('base64');
  private library = '';

  constructor(
    private readonly network: Network,
    private readonly directory: string,
    private readonly stores: Stores,
  ) {}

  /** Prepares the schema, keys and second token, then starts three api and three worker processes. */
  async start(): Promise<void> {
    const label = 'sealwright';
    const { library, conf, pinFile } = await createToken({ dir: join(this.directory, 'token-a'), label });
    this.library = library;
    this.tokens.push({ conf, pinFile });
    await this.prepare();
    this.tokens.push(copyOf({ conf, pinFile }, this.directory));
    for (const node of this.network.nodes) for (const role of ['api', 'worker'] as const) this.add(node, role);
    for (const part of this.processes.values()) part.start();
    for (const node of this.network.nodes) await this.started(node);
  }

  api(node: NodeNumber): Part | undefined {
    return this.processes.get(`api-${node}`);
  }

  parts(node: NodeNumber): Part[] {
    return (['worker', 'api'] as const).flatMap((role) => this.processes.get(`${role}-${node}`) ?? []);
  }

  url(node: NodeNumber): string {
    return `http://${this.network.address(node)}:${PORT}`;
  }

  async started(node: NodeNumber): Promise<void> {
    for (const part of this.parts(node)) await part.says(STARTED, START_LIMIT_MS);
  }

  /** Returns the detailed health from the management port. */
  async health(node: NodeNumber): Promise<string> {
    const address = `http://${this.network.address(node)}:${MANAGEMENT_PORT}/actuator/health`;
    const response = await fetch(address, { signal: AbortSignal.timeout(5000) });
    return response.text();
  }

  async kill(): Promise<void> {
    for (const part of this.processes.values()) await part.kill();
  }

  /** Runs the service on this machine until a first signature is in the log, so that the token contains all keys. */
  private async prepare(): Promise<void> {
    // Connects with a list of hosts, because HAProxy is not reachable from outside the machines.
    const own = { SVC_DATABASE_URL: this.stores.database(3), SVC_HOST: '127.0.0.1', SVC_PORT: '0' };
    const settings = { ...this.settings(1), ...own, SVC_MANAGEMENT_PORT: '' };
    await runToEnd(['migrate'], settings);
    const facts = join(this.directory, 'demo.env');
    await runToEnd(['seed-demo', '--out', facts], settings);
    this.apiKey = /^API_KEY='(.*)'$/m.exec(readFileSync(facts, 'utf8'))?.[1] ?? '';
    const first = await startService(settings);
    try {
      const body = { digest: digestOf('first'), algorithm: 'sha256' };
      const { status } = await first.call('POST', '/api/v1/sign/digest', { key: this.apiKey, body });
      if (status !== 200) throw new Error(`the first signature was answered ${status}`);
      await until('the first checkpoint', 30, async () => {
        const answer = await first.call('GET', '/api/v1/audit/log/checkpoint', { key: this.apiKey });
        return answer.status === 200;
      });
    } finally {
      await first.kill();
    }
  }

  private add(node: NodeNumber, role: Role): void {
    const name = `${role}-${node}`;
    const program = join(DIST, role === 'worker' ? 'worker.js' : 'main.js');
    const logFile = join(this.directory, 'logs', `${name}.log`);
    const command = [...this.network.on(node), process.execPath, program];
    const env = { ...this.settings(node), SVC_ROLE: role, SVC_MANAGEMENT_PORT: role === 'api' ? '9091' : '9092' };
    this.processes.set(name, new Part({ name, command, logFile, env }));
  }

  private settings(node: NodeNumber): Record<string, string> {
    const token = this.tokens[node === 2 ? 1 : 0] ?? this.tokens[0];
    const names = this.network.nodes.map((one) => this.network.address(one));
    return {
      SVC_DATABASE_URL: this.stores.database(node),
      SVC_DATABASE_REPLICATION: this.stores.replication,
      SVC_REDIS_URL: this.stores.redis,
      SVC_HOST: '0.0.0.0',
      SVC_PORT: String(PORT),
      SVC_PUBLIC_URL: PUBLIC_URL,
      SVC_ALLOWED_HOSTS: [...names, '127.0.0.1'].join(','),
      SVC_DRAIN_SECONDS: '2',
      SVC_JWT_SECRET: this.secret,
      SVC_PKCS11_LIBRARY: this.library,
      SVC_PKCS11_TOKEN_LABEL: 'sealwright',
      SVC_PKCS11_PIN_FILE: token?.pinFile ?? '',
      SOFTHSM2_CONF: token?.conf ?? '',
    };
  }
}

/** Copies the token directory, because SoftHSM has no replication. The copy is made before the token changes and is equivalent to a replica. */
function copyOf({ conf }: Token, directory: string): Token {
  const [from, to] = [join(directory, 'token-a'), join(directory, 'token-b')];
  cpSync(from, to, { recursive: true });
  const copied = join(to, 'softhsm2.conf');
  writeFileSync(copied, readFileSync(conf, 'utf8').replaceAll(from, to), { mode: 0o600 });
  return { conf: copied, pinFile: join(to, 'user.pin') };
}
