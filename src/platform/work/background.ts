import type { Config } from '../config/config.js';
import type { DueRows } from '../jobs/claim.js';

/** DueLook selects the rows that make a job due: by the parts of its claim, or by a whole `SELECT`. `order` keeps PostgreSQL on the index that the claim reads. */
export type DueLook = Pick<DueRows, 'table' | 'join' | 'where' | 'order'> | string;

/** BackgroundOptions describes when and where a job runs. All times are in milliseconds. */
export interface BackgroundOptions {
  /** Unique name in kebab case. It labels metrics and log lines and, with the scope `cluster`, names the lease. */
  readonly name: string;
  /** `process`: every process runs the job. `cluster`: one process runs it, and the time counts from its last success in any process. */
  readonly scope: 'process' | 'cluster';
  /** Time between two runs. A job with `due` also runs as soon as a row is due; its default is 15 minutes. */
  readonly every?: number;
  /** Time from the start of the process to the first run; `every` by default. */
  readonly first?: number;
  /** Rows that make the job due. All jobs are looked at by one statement a second, so an idle job costs no statement of its own. */
  readonly due?: DueLook | readonly DueLook[];
  /** Jobs of this process that start after a successful run: those that go on with what it wrote. */
  readonly wakes?: readonly string[];
  /** False for a process or an installation in which the job has nothing to do; `isWorker` for jobs of providers that every role has. */
  readonly when?: (config: Config) => boolean;
  /** False for a job that takes minutes and may be interrupted: a stop does not wait for it. True by default. */
  readonly drain?: boolean;
  /** False for a job whose errors may quote documents of callers: only the kind of an error is logged. True by default. */
  readonly quotesErrors?: boolean;
}

/**
 * BackgroundWork is one run of a job.
 *
 * @param isStopping returns true once the process stops; long work checks it between two steps
 * @returns true if more work is due now, which starts the next run at once
 */
export type BackgroundWork = (isStopping: () => boolean) => unknown;

const METADATA = Symbol('background');

/**
 * Background makes a method of a provider a job of the registry (BackgroundJobs): it never overlaps with itself, a failure is logged and
 * retried with back-off, a stop waits for it, and health, metrics and `sealwright-admin doctor` list it.
 */
export function Background(options: BackgroundOptions) {
  return <Work extends BackgroundWork>(_: object, __: string, { value }: TypedPropertyDescriptor<Work>): void => {
    if (value !== undefined) Reflect.defineMetadata(METADATA, options, value);
  };
}

/** isWorker is a `when` that keeps a job out of processes that only answer HTTP. */
export function isWorker({ works }: Config): boolean {
  return works;
}

/** backgroundOf returns the options of a decorated method; undefined for any other value. */
export function backgroundOf(method: unknown): BackgroundOptions | undefined {
  return typeof method === 'function'
    ? (Reflect.getMetadata(METADATA, method) as BackgroundOptions | undefined)
    : undefined;
}
