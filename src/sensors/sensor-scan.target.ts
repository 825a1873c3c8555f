import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Scope } from '../access/scopes.js';
import { isId, newId } from '../platform/database/new-id.js';
import { Problem } from '../platform/errors/problem.js';
import { type ScheduleTarget, ScheduleTargets, type StartingRun } from '../platform/schedules/schedule-targets.js';
import { SensorCommand } from './sensor-command.entity.js';
import { Sensor } from './sensor.entity.js';

/** `sensor-scan`: asks a sensor, named in the settings, to scan. What else the settings say is handed to it. */
@Injectable()
export class SensorScanTarget implements ScheduleTarget {
  readonly scope = 'sensors:write' satisfies Scope;

  constructor(
    private readonly db: DataSource,
    targets: ScheduleTargets,
  ) {
    targets.serve('sensor-scan', this);
  }

  async check({ sensor }: Record<string, unknown>): Promise<void> {
    if (typeof sensor === 'string' && isId(sensor) && (await this.db.manager.existsBy(Sensor, { id: sensor }))) return;
    const errors = [{ pointer: '/settings/sensor', detail: 'is no sensor' }];
    throw new Problem('refused', 'schedule.sensor', 'The settings name no sensor.', { errors });
  }

  async start(tx: EntityManager, { runId, settings }: StartingRun): Promise<void> {
    const { sensor: sensorId, ...others } = settings as { sensor: string };
    if (!(await tx.existsBy(Sensor, { id: sensorId, enabled: true }))) {
      throw new Problem('conflict', 'sensor.disabled', 'The sensor is disabled or removed.');
    }
    await tx.insert(SensorCommand, { id: newId(), sensorId, runId, settings: others as never });
  }
}
