import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import {
  ApiKeyRenewalService,
  type ApiKeyRotationOrder,
} from '../auth/credentials/api-keys/api-key-renewal.service.js';
import { ApiKeysService, type NewApiKey } from '../auth/credentials/api-keys/api-keys.service.js';
import { VouchedEntries } from '../audit/log/vouched-entries.js';
import type { Caller } from '../access/caller.js';
import type { Scope } from '../access/scopes.js';
import { SensorApiKey } from './sensor.entity.js';
import { truncate } from '../platform/text/truncate.js';

/** Permissions of a sensor: to send heartbeats and report findings. */
const PERMISSIONS: readonly Scope[] = ['sensors:report', 'inventory:report'];
/** Actions of entries that record the API key issued to a sensor. */
const KEY_ISSUED = ['sensor.registered', 'sensor.key-renewed'];

export interface SensorKey {
  readonly id: string;
  /** The secret, which is shown only once. */
  readonly key: string;
}

/** SensorKeys issues, rotates and revokes the API keys of sensors. */
@Injectable()
export class SensorKeys {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly renewal: ApiKeyRenewalService,
    private readonly vouched: VouchedEntries,
  ) {}

  async make(
    tx: EntityManager,
    caller: Caller,
    sensor: { readonly id: string; readonly name: string },
    expiry: Date,
  ): Promise<SensorKey> {
    const order = { name: truncate(`sensor ${sensor.name}`, 100), permissions: PERMISSIONS, expiry };
    return note(tx, sensor.id, await this.apiKeys.createIn(tx, caller, order));
  }

  /**
   * Rotates the key of a sensor. The old key remains valid for the overlap period, as does an earlier key that the sensor may still be using. If the key has
   * expired or was revoked, or the audit log does not confirm that the key was issued to the sensor, a new key owned by the caller is issued instead.
   */
  async renew(
    tx: EntityManager,
    caller: Caller,
    sensor: { readonly id: string; readonly name: string; readonly apiKeyId: string },
    order: ApiKeyRotationOrder,
  ): Promise<SensorKey> {
    const { id, apiKeyId } = sensor;
    const issued = await this.vouched.about(tx, [id], KEY_ISSUED, { apiKey: apiKeyId });
    if (issued.length === 0 || !(await this.apiKeys.isLive(tx, apiKeyId)))
      return this.make(tx, caller, sensor, order.expiry);
    return note(tx, id, await this.renewal.rotateIn(tx, caller, apiKeyId, { ...order, permissions: PERMISSIONS }));
  }

  /** Revokes all keys of a sensor except for `kept`. */
  async revoke(tx: EntityManager, caller: Caller, sensorId: string, kept?: string): Promise<void> {
    const keys = await tx.findBy(SensorApiKey, { sensorId });
    for (const { apiKeyId } of keys) if (apiKeyId !== kept) await this.apiKeys.revokeIn(tx, caller, apiKeyId);
  }
}

async function note(tx: EntityManager, sensorId: string, { row, key }: NewApiKey): Promise<SensorKey> {
  await tx.insert(SensorApiKey, { apiKeyId: row.id, sensorId });
  return { id: row.id, key };
}
