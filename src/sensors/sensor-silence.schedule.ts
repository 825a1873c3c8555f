import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Heartbeats } from './heartbeats.service.js';

/** Half of the shortest heartbeat interval: one and a half intervals and this are less than two. */
const EVERY_MS = 4000;

@Injectable()
export class SensorSilenceSchedule {
  private readonly logger = new Logger(SensorSilenceSchedule.name);

  constructor(private readonly heartbeats: Heartbeats) {}

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.heartbeats
      .missSilent()
      .catch((error: unknown) => this.logger.warn(`sensors were not looked after: ${String(error)}`));
  }
}
