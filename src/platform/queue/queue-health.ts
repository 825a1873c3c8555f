import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Config } from '../config/config.js';
import { SingleFlight } from '../jobs/runners.js';
import { Metrics } from '../metrics/metrics.js';

const LOOK_EVERY_MS = 500;
const PATIENCE_MS = 1000;

/** Whether Redis answers, over a connection of its own, so that a stuck queue does not hide it. */
@Injectable()
export class QueueHealth implements OnApplicationShutdown {
  private readonly logger = new Logger(QueueHealth.name);
  private readonly redis: Redis;
  private readonly timer: NodeJS.Timeout;
  private readonly looks = new SingleFlight((error) => this.logger.warn(`Redis was not asked: ${String(error)}`));
  private answers: boolean | undefined;
  private policy = 'noeviction';

  constructor(
    config: Config,
    private readonly metrics: Metrics,
  ) {
    this.redis = new Redis(config.redisUrl, {
      lazyConnect: true,
      enableOfflineQueue: false,
      commandTimeout: PATIENCE_MS,
      connectTimeout: PATIENCE_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 500,
    });
    this.redis.on('error', () => undefined); // every look finds out by itself
    this.redis.on('ready', () => void this.readPolicy());
    this.redis.connect().catch(() => undefined);
    this.timer = setInterval(() => void this.looks.run(() => this.look()), LOOK_EVERY_MS);
  }

  /** False as soon as one look failed. */
  get reachable(): boolean {
    return this.answers ?? false;
  }

  /** One line for the operator. */
  get detail(): string {
    if (!this.reachable) return 'Redis does not answer; workers poll PostgreSQL meanwhile';
    return this.policy === 'noeviction' ? 'ok' : `maxmemory-policy is ${this.policy}; set it to noeviction`;
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis.disconnect();
  }

  private async look(): Promise<void> {
    const answers = await this.redis.ping().then(
      () => true,
      () => false,
    );
    if (answers !== this.answers)
      this.logger[answers ? 'log' : 'warn'](answers ? 'Redis answers' : this.detailOfLoss());
    this.answers = answers;
    this.metrics.queueReachable.set(answers ? 1 : 0);
  }

  private detailOfLoss(): string {
    return 'Redis does not answer: background work goes on by polling PostgreSQL';
  }

  /** A Redis that evicts would drop job signals silently. */
  private async readPolicy(): Promise<void> {
    const [, policy = 'noeviction'] = (await this.redis.config('GET', 'maxmemory-policy').catch(() => [])) as string[];
    this.policy = policy;
    if (policy !== 'noeviction') this.logger.error(this.detail);
  }
}
