import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Problem } from '../../platform/errors/problem.js';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { LogSequencer } from './log-sequencer.js';

/** The clock of the log: every process that works asks once a second, one of them does it. */
@Injectable()
export class LogSequencerSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger('AuditLog');
  private readonly runs = new SingleFlight((error) => this.failed(error));
  /** Why entries wait: the code of the problem. */
  private failing: string | undefined;

  constructor(private readonly sequencer: LogSequencer) {}

  @Interval(1000)
  tick(): Promise<void> {
    return this.runs.run(async () => {
      await this.sequencer.run(() => this.runs.isStopping);
      this.recovered();
    });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.runs.stop();
  }

  private recovered(): void {
    if (this.failing !== undefined) this.logger.log('entries are numbered and signed again');
    this.failing = undefined;
  }

  private failed(error: unknown): void {
    const [code, why] =
      error instanceof Problem ? [error.code, `${error.code}: ${error.message}`] : ['', String(error)];
    // Once for each reason: an operator who mends one has to see the next.
    if (code !== this.failing) this.logger.error(`entries wait for their number or checkpoint: ${why}`);
    this.failing = code;
  }
}
