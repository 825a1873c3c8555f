import { Injectable } from '@nestjs/common';
import { ApiKeyRenewalService } from '../auth/api-keys/api-key-renewal.service.js';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import type { Caller } from '../auth/caller.js';
import type { Scope } from '../auth/scopes.js';

/** All that a sensor may do: report that it is there, and what it found. */
const PERMISSIONS: readonly Scope[] = ['sensors:report', 'inventory:write'];

export interface SensorKey {
  readonly id: string;
  /** Seen in this answer alone. */
  readonly key: string;
}

/** The API keys of sensors. */
@Injectable()
export class SensorKeys {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly renewal: ApiKeyRenewalService,
  ) {}

  async make(caller: Caller, sensor: string, expiry: Date): Promise<SensorKey> {
    const { row, key } = await this.apiKeys.create(caller, { name: nameOf(sensor), permissions: PERMISSIONS, expiry });
    return { id: row.id, key };
  }

  /** The old key goes on for the overlap. */
  async rotate(caller: Caller, id: string, expiry: Date, overlapHours: number): Promise<SensorKey> {
    const { row, key } = await this.renewal.rotate(caller, id, { expiry, overlapHours });
    return { id: row.id, key };
  }

  async revoke(caller: Caller, ids: readonly (string | null)[]): Promise<void> {
    for (const id of ids) if (id !== null) await this.apiKeys.revoke(caller, id);
  }
}

function nameOf(sensor: string): string {
  return `sensor ${sensor}`.slice(0, 100);
}
