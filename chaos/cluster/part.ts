import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const STOP_LIMIT_MS = 40_000;

/** How to run a part of the cluster. */
export interface Running {
  readonly name: string;
  readonly command: readonly string[];
  readonly logFile: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A program on one machine: a database server, or a process of the service. */
export class Part {
  private child: ChildProcess | undefined;
  private said = '';

  constructor(readonly running: Running) {}

  get isUp(): boolean {
    return this.child !== undefined;
  }

  start(): void {
    const [program = '', ...args] = this.running.command;
    const child = spawn(program, args, {
      env: { ...process.env, ...this.running.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.child = child;
    this.said = '';
    const note = (chunk: Buffer): void => {
      this.said += chunk.toString();
      appendFileSync(this.running.logFile, chunk);
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.once('exit', () => {
      if (this.child === child) this.child = undefined;
    });
    child.once('error', (error) => appendFileSync(this.running.logFile, `${String(error)}\n`));
  }

  /**
   * Waits until the program's output since the start matches `what`. Throws an error with the output if the program ends first or the time limit is exceeded.
   */
  async says(what: RegExp, limitMs: number): Promise<void> {
    for (const end = performance.now() + limitMs; !what.test(this.said); await sleep(100)) {
      if (this.child !== undefined && performance.now() < end) continue;
      throw new Error(`${this.running.name} did not start:\n${this.said.slice(-3000)}`);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name);
  }

  /** Sends SIGKILL and waits for the program to end. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Sends SIGTERM and waits for the program to end. Sends SIGKILL after 40 s. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
    await gone;
    clearTimeout(late);
  }
}

/** Cleans up on signals, so that a stopped proof leaves no namespace, mount or server behind. */
export function closeOnSignals(close: () => Promise<void>): void {
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => void close().finally(() => process.exit(1)));
}
