import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Redis } from 'ioredis';
import { Config } from '../config/config.js';
import { newRedis } from '../queue/redis-connection.js';
import { Problem } from '../errors/problem.js';

const WINDOW_SECONDS = 60;
const SHARE_EVERY_MS = 1000;
const MAX_COUNTERS = 100_000;

interface Count {
  /** Calls counted by this process. */
  own: number;
  /** Number of these calls that were added to Redis. */
  shared: number;
  /** Calls counted by other processes, as of the last exchange with Redis. */
  others: number;
}

/**
 * RateLimits limits calls, or another amount, per caller and minute across all processes. A call costs two lookups in memory. Within a second, the process
 * adds its counts to Redis and reads the counts of other processes, so calls in between can exceed a quota. Without Redis, each process enforces the quota
 * separately.
 */
@Injectable()
export class RateLimits implements OnApplicationShutdown {
  private readonly logger = new Logger(RateLimits.name);
  private readonly redis: Redis;
  private readonly timer = setInterval(() => void this.share(), SHARE_EVERY_MS);
  private counts = new Map<string, Count>();
  private window = 0;
  private sharing = false;
  private failing = false;

  constructor(private readonly config: Config) {
    this.redis = newRedis(config, {
      lazyConnect: true,
      enableOfflineQueue: false,
      commandTimeout: SHARE_EVERY_MS,
      connectTimeout: SHARE_EVERY_MS,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 500,
    });
    this.redis.on('error', () => undefined); // `share` detects failures
    this.redis.connect().catch(() => undefined);
  }

  /** Counts a call and sets the headers of draft-ietf-httpapi-ratelimit-headers. Throws a Problem if the quota is exceeded. */
  take(caller: string, reply: FastifyReply, quota = this.config.rateLimitPerMinute): void {
    const now = Date.now();
    const left = this.roll(now);
    const count = this.countOf(caller);
    count.own += 1;
    const remaining = quota - count.own - count.others;
    void reply
      .header('ratelimit-policy', `"default";q=${quota};w=${WINDOW_SECONDS}`)
      .header('ratelimit', `"default";r=${Math.max(0, remaining)};t=${left}`);
    if (remaining >= 0) return;
    const detail = `You have exceeded the limit of ${quota} requests per minute. Retry after ${left} seconds.`;
    throw new Problem('overloaded', 'rate-limit.exceeded', detail, { retryAfter: left });
  }

  /** Returns the remaining amount of a caller in this minute. `spend` counts used amounts. */
  left(amount: string, caller: string, quota: number): number {
    this.roll(Date.now());
    const { own, others } = this.counts.get(`${amount}:${caller}`) ?? { own: 0, others: 0 };
    return Math.max(0, quota - own - others);
  }

  /** Seconds until the next minute, when all quotas are reset. */
  get secondsLeft(): number {
    return this.roll(Date.now());
  }

  /** Counts an amount that a caller has used. */
  spend(amount: string, caller: string, used: number): void {
    this.roll(Date.now());
    this.countOf(`${amount}:${caller}`).own += used;
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.redis.disconnect();
  }

  /**
   * Starts a new window if the current window has ended.
   * @returns seconds until the current window ends
   */
  private roll(now: number): number {
    const window = Math.floor(now / (WINDOW_SECONDS * 1000));
    if (window !== this.window) {
      this.window = window;
      this.counts = new Map();
    }
    return Math.max(1, Math.ceil(((window + 1) * WINDOW_SECONDS * 1000 - now) / 1000));
  }

  private countOf(caller: string): Count {
    const known = this.counts.get(caller);
    if (known !== undefined) return known;
    if (this.counts.size >= MAX_COUNTERS) this.counts.clear();
    const count = { own: 0, shared: 0, others: 0 };
    this.counts.set(caller, count);
    return count;
  }

  /** Adds this process's new counts to Redis and reads the counts of other processes. */
  private async share(): Promise<void> {
    const changed = [...this.counts].filter(([, { own, shared }]) => own > shared);
    if (this.sharing || changed.length === 0) return;
    this.sharing = true;
    try {
      const window = this.window;
      const pipeline = this.redis.pipeline();
      const asOf = changed.map(([, { own }]) => own);
      changed.forEach(([caller, { shared }], i) => {
        const key = `${this.config.redisPrefix}:rate:${window}:${caller}`;
        pipeline.incrby(key, (asOf[i] ?? 0) - shared).expire(key, WINDOW_SECONDS * 2);
      });
      const answers = await pipeline.exec();
      changed.forEach(([, count], i) => {
        const [error, total] = answers?.[i * 2] ?? [new Error('no response')];
        if (error !== null || window !== this.window) return;
        count.shared = asOf[i] ?? 0;
        count.others = Math.max(0, Number(total) - count.shared);
      });
      this.failing = false;
    } catch (error) {
      if (!this.failing)
        this.logger.warn(`unable to share request counts, so each process enforces its own limit: ${String(error)}`);
      this.failing = true;
    } finally {
      this.sharing = false;
    }
  }
}
