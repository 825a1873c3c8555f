import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { JobLeases } from '../../platform/jobs/job-lease.repository.js';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { tellWitness } from './witness.js';

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
  private witnessedSize = 0;

  constructor(
    private readonly config: Config,
    private readonly db: DataSource,
    private readonly jobs: JobLeases,
  ) {}

  @Interval(LOOK_EVERY_MS)
  tick(): Promise<void> {
    const { logWitness } = this.config;
    if (logWitness === undefined) return Promise.resolve();
    return this.runs.run(() => this.jobs.onceEvery(EVERY_SECONDS, JOB, () => this.witness(logWitness)));
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.runs.stop();
  }

  private async witness(witness: string): Promise<void> {
    const [newest]: { size: string; note: string }[] = await this.db.query(
      `SELECT size, note FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    );
    if (newest === undefined || Number(newest.size) <= this.witnessedSize) return;
    await tellWitness(witness, { at: new Date().toISOString(), checkpoint: newest.note });
    this.witnessedSize = Number(newest.size);
  }
}
