import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Config } from '../../platform/config/config.js';
import { JobLeases } from '../../platform/jobs/job-lease.repository.js';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { LogWitness } from './log-witness.js';

const JOB = 'log-witness';
const LOOK_EVERY_MS = 5000;
/** Between two lines of a witness: at most this much of the log can be unknown to it after a loss. */
const EVERY_SECONDS = 60;

/**
 * LogWitnessSchedule sends each new checkpoint of the log to SVC_LOG_WITNESS once a minute. After a total loss the newest witnessed checkpoint shows
 * auditors how far the log had grown, so that `restore accept --witness` can declare the rollback that they see.
 */
@Injectable()
export class LogWitnessSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger('LogWitness');
  private readonly runs = new SingleFlight((error) =>
    this.logger.warn(`no checkpoint was witnessed: ${String(error)}`),
  );

  constructor(
    private readonly config: Config,
    private readonly witness: LogWitness,
    private readonly jobs: JobLeases,
  ) {}

  @Interval(LOOK_EVERY_MS)
  tick(): Promise<void> {
    const { logWitness } = this.config;
    if (logWitness === undefined) return Promise.resolve();
    return this.runs.run(() => this.jobs.onceEvery(EVERY_SECONDS, JOB, () => this.witness.send(logWitness)));
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.runs.stop();
  }
}
