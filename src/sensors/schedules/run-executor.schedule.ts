import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RunExecutor } from './run-executor.js';

/** Looks for runs that are to be carried out, and lets those end that this process has begun. */
@Injectable()
export class RunExecutorSchedule implements BeforeApplicationShutdown {
  private stopping = false;

  constructor(private readonly executor: RunExecutor) {}

  @Interval(2000)
  look(): void {
    if (!this.stopping) this.executor.look();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    await this.executor.idle();
  }
}
