import { Logger } from '@nestjs/common';
import { causeOf, isDatabaseError } from '../errors/database-error.js';
import { Problem } from '../errors/problem.js';
import { backOff } from './claim.js';
import { oneLine } from '../text/truncate.js';
import type { BackgroundOptions, BackgroundWork } from './background.js';

/** TICK_MS is the resolution of the clock that starts jobs, in milliseconds. A job may start up to this many milliseconds late. */
export const TICK_MS = 250;
/** Maximum delay before a failed job is retried. The delay is short, so that work resumes soon after an outage. */
const MAX_RETRY_MS = 5000;
const MAX_CLUSTER_RETRY_MS = 60_000;
const FIRST_RETRY_MS = 500;
/** Maximum default delay before a new process runs a cluster job, so that cluster jobs do not run during startup. */
const MAX_FIRST_CLUSTER_MS = 60_000;
const DEFAULT_EVERY_MS = 900_000;
const MAX_ERROR_CHARACTERS = 300;

/** BackgroundState is the state of one job of a process. Times are ISO 8601 (UTC); durations are in milliseconds. */
export interface BackgroundState {
  readonly name: string;
  readonly scope: BackgroundOptions['scope'];
  readonly isRunning: boolean;
  /** Time of the last run without an error, or of the last check that found no due work; null before the first run or check. */
  readonly lastSuccessAt: string | null;
  readonly lastFailureAt: string | null;
  /** Error of the last run; null if the run succeeded. */
  readonly lastError: string | null;
  /** Duration of the last run; null before the first run. */
  readonly lastMs: number | null;
  readonly runs: number;
  readonly consecutiveFailures: number;
}

/** Number of consecutive failures before health reports a job. A job that fails once usually succeeds at its retry. */
const FAILURES_TO_REPORT = 3;

/** isFailing reports whether the last three runs of the job failed. Health reports failing jobs. */
export function isFailing({ consecutiveFailures }: BackgroundState): boolean {
  return consecutiveFailures >= FAILURES_TO_REPORT;
}

/** Execution executes one run. Resolves to false if the job was not run because another process holds the lease or has just run the job. */
export type Execution = (work: () => Promise<void>) => Promise<boolean>;

interface JobHooks {
  /** Time of the registry's clock in milliseconds. */
  readonly now: () => number;
  readonly execute: Execution;
  readonly isStopping: () => boolean;
  readonly ran: (outcome: 'succeeded' | 'failed', seconds: number) => void;
}

/** BackgroundJob runs one job, never concurrently with itself, and tracks its state. */
export class BackgroundJob {
  readonly every: number;
  private readonly logger = new Logger('Background');
  private running: Promise<void> | undefined;
  private again = false;
  private readonly notBefore: number;
  private next: number;
  private loggedError: string | undefined;
  private state = {
    lastSuccessAt: null as Date | null,
    lastFailureAt: null as Date | null,
    lastError: null as string | null,
    lastMs: null as number | null,
    runs: 0,
    consecutiveFailures: 0,
  };

  constructor(
    readonly options: BackgroundOptions,
    private readonly work: BackgroundWork,
    private readonly hooks: JobHooks,
  ) {
    this.every = options.every ?? DEFAULT_EVERY_MS;
    const isCluster = options.scope === 'cluster';
    this.next = hooks.now() + (options.first ?? this.every);
    this.notBefore = isCluster ? hooks.now() + (options.first ?? Math.min(this.every, MAX_FIRST_CLUSTER_MS)) : 0;
  }

  /** Reports whether the job is idle and its next run is due. */
  get isTimely(): boolean {
    return this.running === undefined && this.hooks.now() >= this.next - TICK_MS / 2;
  }

  /** Reports whether a due row may start the job: the job is idle, and neither startup nor a failure delays it. */
  get isReady(): boolean {
    if (this.running !== undefined || this.hooks.now() < this.notBefore) return false;
    return this.state.consecutiveFailures === 0 || this.isTimely;
  }

  /** Starts a run. If a run is in progress, schedules another run after it. Never rejects. */
  run(): Promise<void> {
    this.again = true;
    this.running ??= this.runAll().finally(() => {
      this.running = undefined;
      // A wake-up arrived after the last iteration.
      if (this.again && !this.hooks.isStopping()) void this.run();
    });
    return this.running;
  }

  /** Resolves when no run is in progress. */
  async idle(): Promise<void> {
    await this.running;
  }

  /** Records a check that found no due work. After a failure, this result means that another process has done the work. */
  foundNothing(): void {
    Object.assign(this.state, { lastSuccessAt: new Date(), lastError: null, consecutiveFailures: 0 });
  }

  read(): BackgroundState {
    const { lastSuccessAt, lastFailureAt, ...state } = this.state;
    return {
      name: this.options.name,
      scope: this.options.scope,
      isRunning: this.running !== undefined,
      lastSuccessAt: lastSuccessAt?.toISOString() ?? null,
      lastFailureAt: lastFailureAt?.toISOString() ?? null,
      ...state,
    };
  }

  private async runAll(): Promise<void> {
    while (this.again && !this.hooks.isStopping()) {
      this.again = false;
      const began = this.hooks.now();
      const failures = await this.runOnce();
      const longest = this.options.scope === 'cluster' ? MAX_CLUSTER_RETRY_MS : MAX_RETRY_MS;
      this.next = failures === 0 ? began + this.every : this.hooks.now() + backOff(failures, FIRST_RETRY_MS, longest);
    }
  }

  /** Executes one run and returns the number of consecutive failures. */
  private async runOnce(): Promise<number> {
    const began = performance.now();
    try {
      const isDone = await this.hooks.execute(async () => {
        if ((await this.work(this.hooks.isStopping)) === true) this.again = true;
      });
      if (isDone) this.succeeded(performance.now() - began);
      else this.foundNothing();
    } catch (error) {
      this.again = false;
      this.failed(error, performance.now() - began);
    }
    return this.state.consecutiveFailures;
  }

  private succeeded(ms: number): void {
    if (this.state.lastError !== null) this.logger.log(`job ${this.options.name} has recovered`);
    this.ended(ms);
    this.foundNothing();
    this.loggedError = undefined;
    this.hooks.ran('succeeded', ms / 1000);
  }

  private failed(error: unknown, ms: number): void {
    const lastError = this.describe(error);
    const consecutiveFailures = this.state.consecutiveFailures + 1;
    this.ended(ms);
    Object.assign(this.state, { lastFailureAt: new Date(), lastError, consecutiveFailures });
    this.hooks.ran('failed', ms / 1000);
    // Logs each reason once, and again whenever the number of consecutive failures has doubled.
    if (lastError === this.loggedError && !Number.isInteger(Math.log2(consecutiveFailures))) return;
    this.loggedError = lastError;
    const count = consecutiveFailures === 1 ? '' : ` ${consecutiveFailures} times in a row`;
    this.logger.warn(`job ${this.options.name} failed${count}, will retry: ${lastError}`);
  }

  private describe(error: unknown): string {
    if (error instanceof Problem) return oneLine(`${error.code}: ${error.message}`, MAX_ERROR_CHARACTERS);
    const isQuoted = !isDatabaseError(error) && this.options.quotesErrors !== false;
    return isQuoted ? oneLine(String(error), MAX_ERROR_CHARACTERS) : causeOf(error);
  }

  private ended(ms: number): void {
    this.state.runs += 1;
    this.state.lastMs = Math.round(ms);
  }
}
