import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ScanRunner } from './scan.worker.js';

/** Finds scans whose signal was never sent and scans of dead workers. */
@Injectable()
export class DiscoverySchedule {
  constructor(private readonly runner: ScanRunner) {}

  @Interval(2000)
  async sweep(): Promise<void> {
    await this.runner.fill();
  }
}
