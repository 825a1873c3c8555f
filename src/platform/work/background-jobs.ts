import { type BeforeApplicationShutdown, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { setTimeout as sleep } from 'node:timers/promises';
import { Config } from '../config/config.js';
import { isDatabaseTrouble } from '../errors/database-error.js';
import { JobLeases } from './job-lease.repository.js';
import { Metrics } from '../observability/metrics.js';
import type { BackgroundOptions, BackgroundWork } from './background.js';
import { BackgroundJob, type BackgroundState, type Execution, TICK_MS } from './background-job.js';
import { DueJobs } from './due-jobs.js';

/** CLOCK is the name of the clock's timer and of the job that selects due jobs. */
const CLOCK = 'background';
const LOOK_EVERY_MS = 1000;
/** Maximum time to select due jobs. If a lock or a slow database delays the selection for longer, all jobs run, so that no job is delayed. */
const LOOK_PATIENCE_MS = 2000;
/** Fraction of SVC_STOP_SECONDS for which a shutdown waits for jobs. The leases of unfinished work expire. */
const SHARE_OF_STOP = 0.75;

/**
 * BackgroundJobs is the registry of all work that a process does without a request. Jobs come from methods with `@Background` and from `add`. A single clock
 * starts the jobs: by time, or when a statement that runs once per second finds a due row. `wake` starts a job immediately, for rows that this process has just
 * committed.
 */
@Injectable()
export class BackgroundJobs implements OnModuleDestroy, BeforeApplicationShutdown {
  private readonly jobs = new Map<string, BackgroundJob>();
  private stopping = false;
  private drained: Promise<unknown> | undefined;

  constructor(
    private readonly config: Config,
    private readonly schedule: SchedulerRegistry,
    private readonly leases: JobLeases,
    private readonly due: DueJobs,
    private readonly metrics: Metrics,
  ) {
    this.add({ name: CLOCK, scope: 'process', every: LOOK_EVERY_MS, first: 0 }, () => this.startDue());
  }

  /** Whether the process is stopping. Long work then ends at a point from which it can be resumed. */
  get isStopping(): boolean {
    return this.stopping;
  }

  /** Registers a job, unless its `when` excludes this process. Throws if the name is taken. */
  add(options: BackgroundOptions, work: BackgroundWork): void {
    const { name, when } = options;
    if (when !== undefined && !when(this.config)) return;
    if (this.jobs.has(name)) throw new Error(`duplicate background job name: ${name}`);
    const job: BackgroundJob = new BackgroundJob(options, work, {
      now: () => this.now(),
      execute: options.scope === 'process' ? inProcess : (run) => this.inCluster(job, run),
      isStopping: () => this.stopping,
      ran: (outcome, seconds) => {
        this.metrics.backgroundRuns.observe({ job: name, outcome }, seconds);
        if (outcome === 'succeeded') for (const next of options.wakes ?? []) this.wake(next);
      },
    });
    this.jobs.set(name, job);
  }

  /** Starts a job of this process, after the current run of the job if it is running. Ignores unknown names. */
  wake(name: string): void {
    if (!this.stopping) void this.jobs.get(name)?.run();
  }

  /** Returns the state of every job of this process, sorted by name. */
  states(): BackgroundState[] {
    return [...this.jobs.values()].map((job) => job.read()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Starts the clock. Not called by command-line commands, which run only the jobs that they wake. */
  begin(): void {
    const tick = setInterval(() => this.tick(), Math.max(1, TICK_MS / this.config.clockSpeed));
    this.schedule.addInterval(CLOCK, tick);
  }

  /** Stops starting jobs. From now on, `isStopping` returns true to running jobs. */
  onModuleDestroy(): void {
    this.stopping = true;
    if (this.schedule.doesExist('interval', CLOCK)) this.schedule.deleteInterval(CLOCK);
    const drains = [...this.jobs.values()].filter(({ options }) => options.drain !== false);
    const limit = sleep(this.config.stopSeconds * 1000 * SHARE_OF_STOP, undefined, { ref: false });
    this.drained = Promise.race([Promise.all(drains.map((job) => job.idle())), limit]);
  }

  /** Waits for current runs while the database and the HSM are still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.drained;
  }

  /** Returns the time of the clock that schedules jobs, in milliseconds. SVC_CLOCK_SPEED speeds the clock up. */
  private now(): number {
    return performance.now() * this.config.clockSpeed;
  }

  private tick(): void {
    for (const job of this.jobs.values()) if (job.options.scope === 'process' && job.isTimely) void job.run();
  }

  /**
   * Starts the jobs that are due. If the selection fails or takes too long, all jobs run, so that a lock or a faulty condition does not delay any job.
   * While the database is unavailable, no job runs.
   */
  private async startDue(): Promise<void> {
    const selectable = [...this.jobs.values()].filter((job) => this.due.canSelect(job));
    const jobs = selectable.filter((job) => job.isReady);
    const late = sleep(LOOK_PATIENCE_MS, 'late' as const, { ref: false });
    const due = await Promise.race([this.due.among(selectable), late]).catch((error: unknown) => {
      if (!isDatabaseTrouble(error)) for (const job of jobs) void job.run();
      throw error;
    });
    for (const job of jobs) {
      if (due === 'late' || due.has(job.options.name)) void job.run();
      else job.foundNothing();
    }
  }

  private inCluster({ options, every }: BackgroundJob, run: () => Promise<void>): Promise<boolean> {
    return this.leases.onceEvery(every / 1000 / this.config.clockSpeed, options.name, run);
  }
}

const inProcess: Execution = async (run) => {
  await run();
  return true;
};
