import { Injectable } from '@nestjs/common';
import { AuditStreamRepository, type StreamState } from '../../audit/stream/audit-stream.repository.js';
import { Config } from '../../platform/config/config.js';
import { type JobState, JobLeases } from '../../platform/work/job-lease.repository.js';
import { type BackgroundState } from '../../platform/work/background-job.js';
import { BackgroundJobs } from '../../platform/work/background-jobs.js';
import { RecentValue } from '../../platform/work/recent-value.js';
import { type Backlog, type NamedNumber, OperationsReader } from './operations.reader.js';

/** Time in milliseconds for which a read is reused, so that the scrapes of several collectors share one read. */
const FRESH_MS = 10_000;
/** Time in milliseconds for which table sizes are reused. Table sizes change slowly, and reading the sizes requires disk access. */
const SIZES_FRESH_MS = 60_000;

/** State of the service, according to its tables. */
export interface OperationsState {
  readonly backlogs: readonly Backlog[];
  readonly jobs: readonly JobState[];
  readonly checkpointAge: number | undefined;
  readonly certificateDays: readonly NamedNumber[];
  readonly rotationTargets: readonly NamedNumber[];
  readonly oldestTransaction: number;
  /** State of the audit log receivers. */
  readonly streams: readonly StreamState[];
}

/** Reads the state of the service at most every ten seconds, regardless of the number of requests. */
@Injectable()
export class OperationsService {
  private readonly state = new RecentValue(FRESH_MS, () => this.readState());
  private readonly sizes: RecentValue<NamedNumber[]>;

  constructor(
    private readonly reader: OperationsReader,
    private readonly jobs: JobLeases,
    private readonly streamed: AuditStreamRepository,
    private readonly config: Config,
    private readonly background: BackgroundJobs,
  ) {
    this.sizes = new RecentValue(SIZES_FRESH_MS, () => reader.tableBytes());
  }

  /** Rejects if the database does not respond. */
  read(): Promise<OperationsState> {
    return this.state.get();
  }

  tableBytes(): Promise<readonly NamedNumber[]> {
    return this.sizes.get();
  }

  /** Queries run one after the other, so that monitoring uses a single connection. */
  private async readState(): Promise<OperationsState> {
    const backlogs = await this.reader.backlogs();
    const jobs = [...(await this.jobs.list()), ...jobsOfProcess(this.background.states())];
    const checkpointAge = await this.reader.checkpointAge();
    const certificateDays = await this.reader.certificateDays();
    const rotationTargets = await this.reader.rotationTargets();
    const oldestTransaction = await this.reader.oldestTransaction();
    const streams = await this.streamed.states(this.config.auditStreams.map(({ name }) => name));
    return { backlogs, jobs, checkpointAge, certificateDays, rotationTargets, oldestTransaction, streams };
  }
}

/** Converts the jobs of this process to the format of cluster jobs. Omits jobs that have not run yet. */
function jobsOfProcess(states: readonly BackgroundState[]): JobState[] {
  return states.flatMap(({ name, scope, lastSuccessAt: at, lastError }) => {
    if (scope === 'cluster' || (at === null && lastError === null)) return [];
    const lastSuccessAt = at === null ? null : new Date(at);
    const ageSeconds = lastSuccessAt === null ? null : (Date.now() - lastSuccessAt.getTime()) / 1000;
    return [{ name, lastSuccessAt, ageSeconds, lastError }];
  });
}
