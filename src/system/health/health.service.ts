import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { KeyVault } from '../../hsm/key-vault.js';
import { HealthIndicators } from '../../platform/health/health-indicators.js';
import { GracefulShutdown } from '../../platform/http/server/graceful-shutdown.js';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import type { ComponentHealth, Health, HealthComponents } from './health.dto.js';

const PATIENCE_MS = 1000;

/**
 * The state of what the service stands on. Without database or HSM nothing can be signed: DOWN. Without Redis
 * everything still ends, only by polling: DEGRADED, as when mails, timestamps or the log's checkpoints wait.
 */
@Injectable()
export class HealthService {
  constructor(
    private readonly db: DataSource,
    private readonly queue: QueueHealth,
    private readonly vault: KeyVault,
    private readonly shutdown: GracefulShutdown,
    private readonly indicators: HealthIndicators,
  ) {}

  async read(): Promise<Health> {
    const db = await this.database();
    const others = db.status === 'UP' ? await this.others() : undefined;
    const components = { db, redis: this.redis(), hsm: this.hsm(), ...others };
    if (this.shutdown.begun) return { status: 'OUT_OF_SERVICE', components };
    if (components.db.status === 'DOWN' || components.hsm.status === 'DOWN') return { status: 'DOWN', components };
    const isWell = Object.values(components).every(({ status }) => status !== 'DOWN');
    return { status: isWell ? 'UP' : 'DEGRADED', components };
  }

  private async database(): Promise<ComponentHealth> {
    const answer = this.db.query('SELECT 1').then(
      () => 'ok',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const detail = await Promise.race([answer, sleep(PATIENCE_MS, 'no answer within a second', { ref: false })]);
    return { status: detail === 'ok' ? 'UP' : 'DOWN', details: { detail } };
  }

  private async others(): Promise<Pick<HealthComponents, 'tsa' | 'mail' | 'log'>> {
    const found = Object.entries(await this.indicators.read());
    return Object.fromEntries(found.map(([name, { status, detail }]) => [name, { status, details: { detail } }]));
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
