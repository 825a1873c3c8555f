import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { KeyVault } from '../../hsm/key-vault.js';
import { Closing } from '../../platform/http/closing.js';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import type { ComponentHealth, Health } from './health.dto.js';

const PATIENCE_MS = 1000;

/**
 * The state of what the service stands on. Without database or HSM nothing can be signed: DOWN. Without Redis
 * everything still ends, only by polling: DEGRADED.
 */
@Injectable()
export class HealthService {
  constructor(
    private readonly db: DataSource,
    private readonly queue: QueueHealth,
    private readonly vault: KeyVault,
    private readonly closing: Closing,
  ) {}

  async read(): Promise<Health> {
    const components = { db: await this.database(), redis: this.redis(), hsm: this.hsm() };
    if (this.closing.begun) return { status: 'OUT_OF_SERVICE', components };
    if (components.db.status === 'DOWN' || components.hsm.status === 'DOWN') return { status: 'DOWN', components };
    return { status: components.redis.status === 'UP' ? 'UP' : 'DEGRADED', components };
  }

  private async database(): Promise<ComponentHealth> {
    const answer = this.db.query('SELECT 1').then(
      () => 'ok',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const detail = await Promise.race([answer, sleep(PATIENCE_MS, 'no answer within a second', { ref: false })]);
    return { status: detail === 'ok' ? 'UP' : 'DOWN', details: { detail } };
  }

  private redis(): ComponentHealth {
    const { reachable, detail } = this.queue;
    return { status: reachable ? 'UP' : 'DOWN', details: { detail } };
  }

  private hsm(): ComponentHealth {
    const { up, detail, pid, respawns } = this.vault.health();
    return { status: up ? 'UP' : 'DOWN', details: { detail, pid, respawns } };
  }
}
