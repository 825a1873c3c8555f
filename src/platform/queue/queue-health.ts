import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis, ReplyError } from 'ioredis';
import { Config } from '../config/config.js';
import { SingleFlight } from '../work/single-flight.js';
import { WORKER_ID } from '../work/claim.js';
import { Metrics } from '../observability/metrics.js';
import { newRedis } from './redis-connection.js';

const LOOK_EVERY_MS = 500;
const PATIENCE_MS = 1000;
/** Lifetime of the key that is written to check whether Redis accepts writes. */
const KEY_LIFE_MS = 10_000;

/**
 * QueueHealth checks whether Redis accepts writes, over a separate connection, so that a stuck queue does not hide a fault. A full Redis server responds,
 * but accepts no signals.
 */
@Injectable()
export class QueueHealth implements OnApplicationShutdown {
  /** Resolves after the first check. The state is unknown until then. */
  readonly known: Promise<void>;
  private readonly logger = new Logger(QueueHealth.name);
  private readonly redis: Redis;
  private readonly timer: NodeJS.Timeout;
  private readonly looks = new SingleFlight((error) => this.logger.warn(`unable to check Redis: ${String(error)}`));
  private readonly key: string;
  /** Current fault; empty if there is none, undefined before the first check. */
  private fault: string | undefined;
  /** Reason why the connection failed. A command without a connection reports only that the connection is missing. */
  private refusal: unknown;
  private policy = 'noeviction';

  constructor(
    config: Config,
    private readonly metrics: Metrics,
  ) {
    this.key = `${config.redisPrefix}:writable:${WORKER_ID}`;
    this.redis = newRedis(config, {
      lazyConnect: true,
      enableOfflineQueue: false,
      commandTimeout: PATIENCE_MS,
      connectTimeout: PATIENCE_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 500,
    });
    this.redis.on('error', (error: unknown) => (this.refusal = error));
    this.redis.on('ready', () => {
      this.refusal = undefined;
      void this.readPolicy();
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.known = promise;
    const look = () => void this.looks.run(() => this.look()).then(resolve);
    // Checks even if the connection fails, because every check determines the state again.
    this.redis.connect().then(look, look);
    this.timer = setInterval(look, LOOK_EVERY_MS);
  }

  /** Whether the last check succeeded. */
  get reachable(): boolean {
    return this.fault === '';
  }

  /** One line for the operator. */
  get detail(): string {
    if (!this.reachable)
      return `${this.fault ?? 'Redis has not been checked yet'}; workers poll PostgreSQL until Redis is available`;
    return this.policy === 'noeviction' ? 'ok' : `maxmemory-policy is ${this.policy}; set it to noeviction`;
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis.disconnect();
  }

  private async look(): Promise<void> {
    const fault = await this.redis.set(this.key, '1', 'PX', KEY_LIFE_MS).then(
      () => '',
      (error: unknown) => faultOf(error, this.refusal),
    );
    if (fault !== this.fault) {
      if (fault === '') this.logger.log('Redis is available again');
      else this.logger.warn(`${fault}; background work continues by polling PostgreSQL`);
    }
    this.fault = fault;
    this.metrics.queueReachable.set(fault === '' ? 1 : 0);
  }

  /** Reads the eviction policy. With any policy other than noeviction, Redis could silently drop job signals. */
  private async readPolicy(): Promise<void> {
    const [, policy = 'noeviction'] = (await this.redis.config('GET', 'maxmemory-policy').catch(() => [])) as string[];
    this.policy = policy;
    if (policy !== 'noeviction') this.logger.error(this.detail);
  }
}

/**
 * Returns the fault as one line. Redis rejects a command with OOM if it is full, READONLY if it is a replica, and WRONGPASS or NOAUTH for invalid
 * credentials.
 */
function faultOf(error: unknown, refusal: unknown): string {
  const cause = error instanceof ReplyError ? error : refusal;
  const said = cause instanceof ReplyError ? (cause as Error).message : '';
  if (/^(?:WRONGPASS|NOAUTH|NOPERM)/.test(said))
    return `Redis rejected the user or the password of SVC_REDIS_URL (${said})`;
  if (!(cause instanceof ReplyError) && cause instanceof Error) return `Redis is not responding (${cause.message})`;
  if (said.startsWith('OOM')) return `Redis is full and does not accept writes (${said})`;
  return said === '' ? 'Redis is not responding' : `Redis does not accept writes (${said})`;
}
