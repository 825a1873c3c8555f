import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { OldRows } from '../platform/database/old-rows.js';
import { AlertEvents } from '../platform/events/alert-events.js';

/** Half of the shortest heartbeat interval, so that a silent sensor is reported within two intervals. */
const EVERY_MS = 4000;

/** Reports sensors that became silent, and removes old commands. */
@Injectable()
export class SensorSilence {
  private readonly logger = new Logger(SensorSilence.name);

  constructor(
    private readonly db: DataSource,
    private readonly alertEvents: AlertEvents,
    old: OldRows,
  ) {
    old.forget({ table: 'sensor_command', where: 't.ended_at IS NOT NULL', since: 'ended_at' });
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.reportSilent().catch((error: unknown) =>
      this.logger.warn(`silent sensors were not reported: ${String(error)}`),
    );
  }

  /** Raises an alert for each sensor without a heartbeat for one and a half of its intervals. */
  private async reportSilent(): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [silent]: [{ id: string; name: string; last: Date; seconds: number }[], number] = await tx.query(
        `UPDATE sensor SET silent_since = now()
         WHERE enabled AND silent_since IS NULL AND last_heartbeat_at < now() - heartbeat_seconds * interval '1.5 seconds'
         RETURNING id, name, last_heartbeat_at AS last, heartbeat_seconds AS seconds`,
      );
      await this.alertEvents.record(
        tx,
        silent.map(({ id, name, last, seconds }) => ({
          type: 'sensor.silent',
          subject: { kind: 'sensor', id, name },
          facts: { why: `It reports every ${seconds} seconds, and was last heard at ${last.toISOString()}.` },
        })),
      );
    });
  }
}
