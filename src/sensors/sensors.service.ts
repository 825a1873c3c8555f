import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../audit/audit.service.js';
import type { Caller } from '../auth/caller.js';
import { writeUnique } from '../platform/database/unique-write.js';
import { Cursors, type Page } from '../platform/http/cursors.js';
import type { PageQuery } from '../platform/http/page.js';
import { Problem } from '../platform/http/problem.js';
import { staleProblem } from '../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../platform/idempotency/idempotency-keys.js';
import { SensorCommand } from './sensor-command.entity.js';
import { SensorKeys } from './sensor-keys.service.js';
import { Sensor } from './sensor.entity.js';

export type SensorOrder = Pick<Sensor, 'name' | 'kind' | 'configuration' | 'heartbeatSeconds'>;
export type SensorChange = Partial<SensorOrder>;

/** Which sensors there are, and with which key each reports. */
@Injectable()
export class SensorsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly keys: SensorKeys,
  ) {}

  /** Registers a sensor. Its key is in the answer and nowhere else. */
  async register(
    caller: Caller,
    id: string,
    order: SensorOrder,
    expiry: Date,
    use: IdempotentUse | undefined,
  ): Promise<{ row: Sensor; key: string }> {
    // The key first, in a transaction of its own: nobody has seen it yet, and it goes when the sensor cannot be stored.
    const key = await this.keys.make(caller, order.name, expiry);
    try {
      await this.write(order.name, async (tx) => {
        if (use !== undefined) await this.assertNew(tx, use);
        await tx.insert(Sensor, { id, ...order, configuration: order.configuration as never, apiKeyId: key.id });
        await this.record(tx, caller, 'sensor.registered', id, { name: order.name, kind: order.kind, apiKey: key.id });
      });
    } catch (error) {
      await this.keys.revoke(caller, [key.id]);
      throw error;
    }
    return { row: await this.get(id), key: key.key };
  }

  async list(page: PageQuery): Promise<Page<Sensor>> {
    return this.cursors.newest('sensors', this.db.createQueryBuilder(Sensor, 'sensor'), page);
  }

  async get(id: string): Promise<Sensor> {
    const row = await this.db.manager.findOneBy(Sensor, { id });
    if (row === null) throw missing();
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

  /** Gives the sensor another key; the old one goes on for the overlap. A disabled sensor is enabled by it. */
  async renewKey(
    caller: Caller,
    id: string,
    expiry: Date,
    overlapHours: number,
  ): Promise<{ row: Sensor; key: string }> {
    const { enabled, apiKeyId, name } = await this.get(id);
    const key = enabled
      ? await this.keys.rotate(caller, apiKeyId, expiry, overlapHours)
      : await this.keys.make(caller, name, expiry);
    await this.db.transaction(async (tx) => {
      await tx.query(
        `UPDATE sensor SET api_key_id = $2, old_api_key_id = $3, enabled = true, silent_since = NULL, version = version + 1,
           last_heartbeat_at = CASE WHEN enabled THEN last_heartbeat_at ELSE now() END WHERE id = $1`,
        [id, key.id, enabled ? apiKeyId : null],
      );
      await this.record(tx, caller, 'sensor.key-renewed', id, { apiKey: key.id, overlapHours });
    });
    return { row: await this.get(id), key: key.key };
  }

  /** Revokes its keys: within five seconds nothing of it is taken any more. */
  async disable(caller: Caller, id: string): Promise<Sensor> {
    const { apiKeyId, oldApiKeyId } = await this.get(id);
    await this.keys.revoke(caller, [apiKeyId, oldApiKeyId]);
    await this.db.transaction(async (tx) => {
      await tx.query(
        `UPDATE sensor SET enabled = false, silent_since = NULL, version = version + 1 WHERE id = $1 AND enabled`,
        [id],
      );
      await this.record(tx, caller, 'sensor.disabled', id, {});
    });
    return this.get(id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.disable(caller, id);
    await this.db.transaction(async (tx) => {
      await tx.delete(SensorCommand, { sensorId: id });
      await tx.delete(Sensor, { id });
      await this.record(tx, caller, 'sensor.removed', id, {});
    });
  }

  private async assertNew(tx: EntityManager, use: IdempotentUse): Promise<void> {
    const earlier = await this.idempotency.earlier(tx, use);
    if (earlier === undefined) return;
    const detail = 'This call registered a sensor already, and its key is shown only once; renew the key.';
    throw new Problem('conflict', 'idempotency.secret-shown', detail, { instance: `/api/sensors/${earlier}` });
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const taken = () => new Problem('conflict', 'sensor.name', `There is a sensor named "${name}".`);
    return writeUnique(this.db, work, taken);
  }

  private async record(
    tx: EntityManager,
    caller: Caller,
    action: string,
    id: string,
    detail: Record<string, unknown>,
  ): Promise<void> {
    const target = { kind: 'sensor', id };
    await this.audit.appendBy(tx, caller, { action, target, detail });
  }
}

function missing(): Problem {
  return new Problem('missing', 'sensor.missing', 'There is no such sensor.');
}
