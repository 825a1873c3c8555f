import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SnapshotTaker } from './snapshot-taker.js';

const EVERY_MS = 60_000;

/** Who was not running at midnight looks as soon as they run: nothing changes meanwhile. */
@Injectable()
export class SnapshotSchedule implements OnApplicationBootstrap {
  private readonly logger = new Logger(SnapshotSchedule.name);

  constructor(private readonly taker: SnapshotTaker) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.look();
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    try {
      await this.taker.takeLast();
    } catch (error) {
      this.logger.warn(`no snapshot was taken: ${error instanceof Error ? error.name : 'unknown'}`);
    }
  }
}
