import { Injectable } from '@nestjs/common';
import { KeyVault } from '../../hsm/key-vault.js';
import { HealthIndicators } from '../../platform/observability/health-indicators.js';
import { GracefulShutdown } from '../../platform/http/server/graceful-shutdown.js';
import { InstanceHeartbeat } from '../../platform/instances/heartbeat.js';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import type { ComponentHealth, Health, HealthComponents } from './health.dto.js';

/** Maximum clock offset of a ready process. With a larger offset, other processes would misinterpret times that this process writes (IDs, expiries, tokens). */
const MAX_READY_CLOCK_OFFSET_MS = 30_000;

/**
 * Reports the state of the service and its dependencies. `read` covers everything. The state is DOWN if the database or the HSM is unavailable, because nothing
 * can be signed. The state is DEGRADED if Redis is unavailable, no process runs background work, or emails, timestamps or checkpoints are delayed. Without
 * Redis, all work still completes through polling. `readiness` does not depend on the HSM, because most of the API works without the HSM. `signing` requires
 * both the database and the HSM.
 */
@Injectable()
export class HealthService {
  constructor(
    private readonly heartbeat: InstanceHeartbeat,
    private readonly queue: QueueHealth,
    private readonly vault: KeyVault,
    private readonly shutdown: GracefulShutdown,
    private readonly indicators: HealthIndicators,
  ) {}

  async read(): Promise<Health> {
    const db = await this.database();
    const others = db.status === 'UP' ? await this.others() : undefined;
    await this.queue.known;
    const components = { db, redis: this.redis(), hsm: this.hsm(), ...others };
    if (this.isOut()) return { status: 'OUT_OF_SERVICE', components };
    if (components.db.status === 'DOWN' || components.hsm.status === 'DOWN') return { status: 'DOWN', components };
    const isWell = Object.values(components).every(({ status }) => status !== 'DOWN');
    return { status: isWell ? 'UP' : 'DEGRADED', components };
  }

  /** Reports whether calls should be routed to this process. */
  async readiness(): Promise<Health> {
    const db = await this.database();
    const clock = this.clock();
    return this.stateOf({ db, ...(clock.status === 'DOWN' && { clock }) });
  }

  /** Reports whether this process can sign. */
  async signing(): Promise<Health> {
    return this.stateOf({ db: await this.database(), hsm: this.hsm() });
  }

  private stateOf(components: HealthComponents): Health {
    if (this.isOut()) return { status: 'OUT_OF_SERVICE', components };
    const isUp = Object.values(components).every(({ status }: ComponentHealth) => status !== 'DOWN');
    return { status: isUp ? 'UP' : 'DOWN', components };
  }

  private isOut(): boolean {
    return this.shutdown.begun || this.heartbeat.schemaTrouble !== undefined;
  }

  private async database(): Promise<ComponentHealth> {
    const fault = this.heartbeat.schemaTrouble ?? (await this.heartbeat.databaseFault());
    return { status: fault === undefined ? 'UP' : 'DOWN', details: { detail: fault ?? 'ok' } };
  }

  private clock(): ComponentHealth {
    const ms = this.heartbeat.clockOffsetMs;
    const detail = `the clock of this process is ${(ms / 1000).toFixed(1)} s ahead of the database clock`;
    return { status: Math.abs(ms) > MAX_READY_CLOCK_OFFSET_MS ? 'DOWN' : 'UP', details: { detail } };
  }

  private async others(): Promise<Partial<HealthComponents>> {
    const found = Object.entries(await this.indicators.read());
    return Object.fromEntries(
      found.map(([name, { status, detail, facts }]) => [name, { status, details: { detail, ...facts } }]),
    );
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
