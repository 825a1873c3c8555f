import type { Config } from '../config/config.js';
import type { DueRows } from './claim.js';

/**
 * DueLook selects the rows that make a job due, either by the parts of its claim or by a complete `SELECT`. `order` makes PostgreSQL use the same index as
 * the claim.
 */
export type DueLook = Pick<DueRows, 'table' | 'join' | 'where' | 'order'> | string;

/** BackgroundOptions describes when and where a job runs. All times are in milliseconds. */
export interface BackgroundOptions {
  /** Unique name in kebab case. The name labels metrics and log lines and, with the scope `cluster`, identifies the lease. */
  readonly name: string;
  /** `process`: every process runs the job. `cluster`: one process at a time runs the job, and the interval starts at the last success in any process. */
  readonly scope: 'process' | 'cluster';
  /** Interval between runs. Defaults to 15 minutes. A job with `due` also runs as soon as a row is due. */
  readonly every?: number;
  /** Time from the start of the process to the first run. Defaults to `every`. */
  readonly first?: number;
  /** Rows that make the job due. One statement a second checks all jobs, so an idle job costs no separate statement. */
  readonly due?: DueLook | readonly DueLook[];
  /** Jobs of this process that start after a successful run, because they process rows that the run wrote. */
  readonly wakes?: readonly string[];
  /** Returns false in a process or installation that does not need the job. Use `isWorker` for jobs of providers that exist in every role. */
  readonly when?: (config: Config) => boolean;
  /** False for a job that takes minutes and may be interrupted: a shutdown does not wait for the job. Defaults to true. */
  readonly drain?: boolean;
  /** False for a job whose errors may quote callers' documents: only the kind of the error is logged. Defaults to true. */
  readonly quotesErrors?: boolean;
}

/**
 * BackgroundWork is one run of a job.
 *
 * @param isStopping returns true once the process is stopping; long work calls `isStopping` between steps
 * @returns true if more work is due now, which starts the next run immediately
 */
export type BackgroundWork = (isStopping: () => boolean) => unknown;

const METADATA = Symbol('background');

/**
 * Background registers a method of a provider as a job in BackgroundJobs. The job never overlaps with itself, failures are logged and retried with backoff, a
 * shutdown waits for the current run, and health, metrics and `sealwright-admin doctor` list the job.
 */
export function Background(options: BackgroundOptions) {
  return <Work extends BackgroundWork>(_: object, __: string, { value }: TypedPropertyDescriptor<Work>): void => {
    if (value !== undefined) Reflect.defineMetadata(METADATA, options, value);
  };
}

/** isWorker is a `when` condition that excludes processes that only serve HTTP. */
export function isWorker({ works }: Config): boolean {
  return works;
}

/** backgroundOf returns the options of a decorated method; undefined for any other value. */
export function backgroundOf(method: unknown): BackgroundOptions | undefined {
  return typeof method === 'function'
    ? (Reflect.getMetadata(METADATA, method) as BackgroundOptions | undefined)
    : undefined;
}
