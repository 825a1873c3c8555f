import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { OldRows } from '../platform/database/old-rows.js';
import { Heartbeats } from './heartbeats.service.js';

/** Half of the shortest heartbeat interval: one and a half intervals and this are less than two. */
const EVERY_MS = 4000;

@Injectable()
export class SensorSilenceSchedule {
  private readonly logger = new Logger(SensorSilenceSchedule.name);

  constructor(
    private readonly heartbeats: Heartbeats,
    old: OldRows,
  ) {
    old.forget({ table: 'sensor_command', where: 't.ended_at IS NOT NULL', since: 'ended_at' });
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.heartbeats
      .missSilent()
      .catch((error: unknown) => this.logger.warn(`sensors were not looked after: ${String(error)}`));
  }
}
