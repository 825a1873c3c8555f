import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { childrenOf, signal } from './processes.js';
import type { Random } from './random.js';

const STARTED = /listening on (http:\/\/\S+)|working in the background/;
/** Time after which a stopping process counts as hanging: SVC_STOP_SECONDS plus a margin. */
const STOP_LIMIT_MS = 25_000;
const LOOK_MS = 100;
/** Number of log lines that are kept if a process ends on its own. */
const LAST_LINES = 60;
const LAST_WORDS_MS = 100;

export type Role = 'api' | 'worker';

/** A slot in the cluster, which is occupied by one service process at a time: the first process or one of its successors. */
export class Slot {
  readonly logFile: string;
  /** URL of the current process; undefined until it listens. */
  url: string | undefined;
  starts = 0;
  /** Whether the current process is ready. */
  up = false;
  frozen = false;
  private child: ChildProcess | undefined;

  constructor(
    readonly role: Role,
    readonly name: string,
    private readonly cluster: Cluster,
  ) {
    this.logFile = join(cluster.logs, `${name}.log`);
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Returns the ID of the key process, the only child of the service. */
  get keyProcess(): number | undefined {
    return this.pid === undefined ? undefined : childrenOf(this.pid)[0];
  }

  start(): void {
    const { dist, environment } = this.cluster;
    const child = spawn(process.execPath, [join(dist, this.role === 'worker' ? 'worker.js' : 'main.js')], {
      env: { ...environment, SVC_ROLE: this.role },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    this.starts += 1;
    let said = '';
    const note = (chunk: Buffer): void => {
      appendFileSync(this.logFile, chunk);
      if (this.up || child !== this.child) return;
      said += chunk.toString();
      const found = STARTED.exec(said);
      if (found === null) return;
      this.url = found[1];
      this.up = true;
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.once('exit', (code, how) => this.ended(code, how));
    child.once('error', (error) => this.cluster.ownEnds.push(`${this.name} cannot be started: ${error.message}`));
  }

  /** Sends SIGKILL. */
  kill(): void {
    this.cluster.expected.add(this.pid ?? 0);
    signal(this.pid, 'SIGKILL');
  }

  /** Stops gracefully. A process that hangs is recorded and killed. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    this.cluster.expected.add(child.pid);
    const gone = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    child.kill('SIGTERM');
    let awakeMs = 0; // a frozen process does not receive the signal
    const patience = setInterval(() => {
      if (!this.frozen) awakeMs += LOOK_MS;
      if (awakeMs < STOP_LIMIT_MS) return;
      clearInterval(patience);
      this.cluster.hungStops.push(`${this.name} (${child.pid}) did not stop within ${STOP_LIMIT_MS} ms of SIGTERM`);
      child.kill('SIGKILL');
    }, LOOK_MS);
    const [code] = await gone;
    clearInterval(patience);
    // A graceful stop ends with the signal. An exit status means that the process failed while stopping.
    if (code !== null)
      await this.cluster.noteEnd(`${this.name} (${child.pid}) failed as it was stopped: status ${code}`, this);
  }

  private ended(code: number | null, how: NodeJS.Signals | null): void {
    const wasUp = this.up;
    const pid = this.pid ?? 0;
    this.up = false;
    this.frozen = false;
    this.url = undefined;
    this.child = undefined;
    void this.cluster.replace(this, { pid, wasUp, how: how ?? `status ${code}` });
  }
}

interface Death {
  readonly pid: number;
  readonly wasUp: boolean;
  readonly how: string;
}

/** Two api and two worker processes, each replaced shortly after it dies, as by a service manager. */
export class Cluster {
  readonly slots: readonly Slot[];
  /** Processes that were ended on purpose. */
  readonly expected = new Set<number>();
  /** Processes that ended on their own. */
  readonly ownEnds: string[] = [];
  readonly hungStops: string[] = [];
  private closing = false;

  constructor(
    readonly dist: string,
    readonly environment: NodeJS.ProcessEnv,
    readonly logs: string,
    private readonly random: Random,
  ) {
    this.slots = (['api', 'api', 'worker', 'worker'] as const).map(
      (role, index) => new Slot(role, `${role}-${(index % 2) + 1}`, this),
    );
  }

  of(role: Role): Slot[] {
    return this.slots.filter((slot) => slot.role === role);
  }

  /** Returns the URLs of the apis that have started to listen. */
  urls(): string[] {
    return this.of('api').flatMap(({ url }) => (url === undefined ? [] : [url]));
  }

  async start(): Promise<void> {
    for (const slot of this.slots) slot.start();
    await this.allUp(180_000);
  }

  async allUp(limitMs: number): Promise<void> {
    const deadline = Date.now() + limitMs;
    while (!this.slots.every(({ up }) => up)) {
      if (Date.now() > deadline) {
        const missing = this.slots.filter(({ up }) => !up).map(({ name }) => name);
        throw new Error(`these processes did not start within ${limitMs} ms: ${missing.join(', ')}`);
      }
      await sleep(50);
    }
  }

  async replace(slot: Slot, { pid, wasUp, how }: Death): Promise<void> {
    if (this.closing) return;
    if (!this.expected.has(pid)) {
      const when = wasUp ? 'while it worked' : 'while it started';
      await this.noteEnd(`${slot.name} (${pid}) ended by itself ${when}: ${how}`, slot);
    }
    await sleep(this.random.between(200, 1500));
    if (!this.closing) slot.start();
  }

  /** Records the unexpected end of a process along with the last log lines, because the logs are removed after the run. */
  async noteEnd(what: string, { logFile }: Slot): Promise<void> {
    await sleep(LAST_WORDS_MS); // the last output may still be in transit
    const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LAST_LINES);
    this.ownEnds.push([what, ...lines].join('\n    '));
  }

  async close(): Promise<void> {
    this.closing = true;
    for (const slot of this.slots) {
      signal(slot.pid, 'SIGCONT');
      slot.kill();
    }
    while (this.slots.some(({ pid }) => pid !== undefined)) await sleep(20);
  }
}

/** Runs a command of the built CLI. */
export async function runCli(dist: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  await promisify(execFile)(process.execPath, [join(dist, 'cli.js'), ...args], { env, timeout: 180_000 });
}
