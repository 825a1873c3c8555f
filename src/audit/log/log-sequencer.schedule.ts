import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Problem } from '../../platform/errors/problem.js';
import { LogSequencer } from './log-sequencer.js';

/** The clock of the log: every process that works asks once a second, one of them does it. */
@Injectable()
export class LogSequencerSchedule implements BeforeApplicationShutdown {
  private readonly logger = new Logger('AuditLog');
  private running: Promise<void> | undefined;
  private stopping = false;
  private failing = false;

  constructor(private readonly sequencer: LogSequencer) {}

  @Interval(1000)
  async tick(): Promise<void> {
    if (this.stopping || this.running !== undefined) return;
    this.running = this.sequencer
      .run(() => this.stopping)
      .then(
        () => this.recovered(),
        (error: unknown) => this.failed(error),
      );
    await this.running;
    this.running = undefined;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  private recovered(): void {
    if (this.failing) this.logger.log('entries are numbered and signed again');
    this.failing = false;
  }

  private failed(error: unknown): void {
    const why = error instanceof Problem ? `${error.code}: ${error.message}` : String(error);
    if (!this.failing) this.logger.error(`entries wait for their number or checkpoint: ${why}`);
    this.failing = true;
  }
}
