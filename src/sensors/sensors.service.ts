import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../audit/entries/audit.service.js';
import type { Caller } from '../access/caller.js';
import type { Scope } from '../access/scopes.js';
import { isId, newId } from '../platform/database/new-id.js';
import { writeUnique } from '../platform/errors/database-error.js';
import { Cursors, type Page } from '../platform/http/cursors.js';
import type { NamedPageQuery } from '../platform/http/page.js';
import { Problem, missing } from '../platform/errors/problem.js';
import { staleProblem } from '../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../platform/http/idempotency-keys.js';
import { type ScheduleTarget, ScheduleTargets, type StartingRun } from '../platform/events/schedule-targets.js';
import { Sensor, SensorApiKey, SensorCommand } from './sensor.entity.js';
import { SensorKeys } from './sensor-keys.service.js';

export type SensorOrder = Pick<Sensor, 'name' | 'kind' | 'configuration' | 'heartbeatSeconds'>;
export type SensorChange = Partial<SensorOrder>;

/** SensorsService registers, changes and removes sensors, and manages their API keys. */
@Injectable()
export class SensorsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly keys: SensorKeys,
  ) {
    this.record = audit.recorderFor('sensor');
  }

  /** Registers a sensor. Its key is returned only once. */
  async register(
    caller: Caller,
    order: SensorOrder,
    expiry: Date,
    use: IdempotentUse | undefined,
  ): Promise<{ row: Sensor; key: string }> {
    const id = use?.resource ?? newId();
    const key = await this.write(order.name, async (tx) => {
      await this.idempotency.assertFirst(tx, use, (earlier) => `/api/sensors/${earlier}`);
      const made = await this.keys.make(tx, caller, { id, name: order.name }, expiry);
      await tx.insert(Sensor, { id, ...order, configuration: order.configuration as never, apiKeyId: made.id });
      await this.record(tx, caller, 'sensor.registered', id, { name: order.name, kind: order.kind, apiKey: made.id });
      return made.key;
    });
    return { row: await this.get(id), key };
  }

  async list(page: NamedPageQuery): Promise<Page<Sensor>> {
    return this.cursors.newestNamed('sensors', this.db.createQueryBuilder(Sensor, 'sensor'), page);
  }

  async get(id: string): Promise<Sensor> {
    const row = await this.db.manager.findOneBy(Sensor, { id });
    if (row === null) throw missing('sensor');
    return row;
  }

  async change(caller: Caller, id: string, version: number, change: SensorChange): Promise<Sensor> {
    const { name } = await this.get(id);
    const next = { ...change, configuration: change.configuration as never };
    if (change.configuration === undefined) delete (next as SensorChange).configuration;
    await this.write(change.name ?? name, async (tx) => {
      const { affected } = await tx.update(Sensor, { id, version }, { ...next, version: version + 1 });
      if (affected !== 1) throw staleProblem(`/api/sensors/${id}`);
      await this.record(tx, caller, 'sensor.changed', id, { ...change });
    });
    return this.get(id);
  }

  /**
   * Issues a new key for the sensor. Old keys remain valid for `overlapHours`, or are revoked immediately if `overlapHours` is 0. A disabled sensor is enabled
   * again.
   */
  async renewKey(
    caller: Caller,
    id: string,
    expiry: Date,
    overlapHours: number,
  ): Promise<{ row: Sensor; key: string }> {
    const made = await this.db.transaction(async (tx) => {
      const sensor = await lockSensor(tx, id);
      const key = await this.keys.renew(tx, caller, sensor, { expiry, overlapHours });
      await tx.query(
        `UPDATE sensor SET api_key_id = $2, enabled = true, silent_since = NULL, version = version + 1,
           last_heartbeat_at = CASE WHEN enabled THEN last_heartbeat_at ELSE now() END WHERE id = $1`,
        [id, key.id],
      );
      if (overlapHours === 0) await this.keys.revoke(tx, caller, id, key.id);
      await this.record(tx, caller, 'sensor.key-renewed', id, { apiKey: key.id, overlapHours });
      return key;
    });
    return { row: await this.get(id), key: made.key };
  }

  /** Disables a sensor and revokes its keys. Requests from the sensor are rejected within five seconds. */
  async disable(caller: Caller, id: string): Promise<Sensor> {
    await this.db.transaction((tx) => this.end(tx, caller, id));
    return this.get(id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.end(tx, caller, id);
      await tx.delete(SensorCommand, { sensorId: id });
      await tx.delete(SensorApiKey, { sensorId: id });
      await tx.delete(Sensor, { id });
      await this.record(tx, caller, 'sensor.removed', id, {});
    });
  }

  private async end(tx: EntityManager, caller: Caller, id: string): Promise<void> {
    await lockSensor(tx, id);
    await this.keys.revoke(tx, caller, id);
    await tx.query(
      `UPDATE sensor SET enabled = false, silent_since = NULL, version = version + 1 WHERE id = $1 AND enabled`,
      [id],
    );
    await this.record(tx, caller, 'sensor.disabled', id, {});
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const taken = () => new Problem('conflict', 'sensor.name', `A sensor named "${name}" already exists.`);
    return writeUnique(this.db, work, taken);
  }
}

/** Locks the sensor row, which serializes key changes, disabling and removal. */
async function lockSensor(tx: EntityManager, id: string): Promise<Sensor> {
  const sensor = await tx.findOne(Sensor, { where: { id }, lock: { mode: 'pessimistic_write' } });
  if (sensor === null) throw missing('sensor');
  return sensor;
}

/** SensorScanTarget is the schedule target `sensor-scan`. It creates a command for the sensor in the settings, and passes all other settings to the sensor. */
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
    const errors = [{ pointer: '/settings/sensor', detail: 'must be the ID of a sensor' }];
    throw new Problem('refused', 'schedule.sensor', '/settings/sensor: must be the ID of a sensor.', { errors });
  }

  async start(tx: EntityManager, { runId, settings }: StartingRun): Promise<void> {
    const { sensor: sensorId, ...others } = settings as { sensor: string };
    if (!(await tx.existsBy(Sensor, { id: sensorId, enabled: true }))) {
      throw new Problem('conflict', 'sensor.disabled', 'The sensor is disabled or was deleted.');
    }
    await tx.insert(SensorCommand, { id: newId(), sensorId, runId, settings: others as never });
  }
}
