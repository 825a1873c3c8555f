import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RowRetention } from '../platform/work/row-retention.js';
import { recordAlertEvents } from '../platform/events/alert-events.js';
import { EventAnnouncer } from '../events/event-announcer.service.js';
import { sensorEvent } from './sensor-event.js';
import { Background } from '../platform/work/background.js';

/** Number of heartbeat intervals without a heartbeat after which a sensor counts as silent. */
const SILENT_AFTER = 1.5;
const SILENT = `enabled AND silent_since IS NULL AND last_heartbeat_at < now() - heartbeat_seconds * interval '${SILENT_AFTER} seconds'`;

/** SensorSilence reports sensors that have stopped sending heartbeats, and deletes old commands. */
@Injectable()
export class SensorSilence {
  constructor(
    private readonly db: DataSource,
    private readonly events: EventAnnouncer,
    old: RowRetention,
  ) {
    old.forget({ table: 'sensor_command', where: 't.ended_at IS NOT NULL', since: 'ended_at' });
  }

  /** Raises an alert for each sensor that has become silent. */
  @Background({ name: 'silent-sensors', scope: 'process', due: `SELECT FROM sensor WHERE ${SILENT}` })
  async reportSilent(): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [silent]: [{ id: string; name: string; last: Date; seconds: number }[], number] = await tx.query(
        `UPDATE sensor SET silent_since = now()
         WHERE ${SILENT}
         RETURNING id, name, last_heartbeat_at AS last, heartbeat_seconds AS seconds`,
      );
      await recordAlertEvents(
        tx,
        silent.map(({ id, name, last, seconds }) => ({
          type: 'sensor.silent',
          subject: { kind: 'sensor', id, name },
          facts: {
            why: `The last heartbeat was at ${last.toISOString()}. Heartbeats are expected every ${seconds} seconds.`,
          },
        })),
      );
      for (const { id, name, last } of silent)
        await this.events.announce(tx, sensorEvent('sensor.silent', { id, name }, { lastHeartbeatAt: last }));
    });
  }
}
