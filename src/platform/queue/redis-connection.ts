import { Redis, type RedisOptions } from 'ioredis';

/** A command that Redis does not answer fails soon, instead of hanging until it comes back. */
const ASKING: RedisOptions = { enableOfflineQueue: false, commandTimeout: 1500, maxRetriesPerRequest: 1 };
/** Blocking and subscribed connections wait by design. */
const LISTENING: RedisOptions = { maxRetriesPerRequest: null, enableReadyCheck: false };

/** What a connection is for, in the words of Bull's `createClient`. */
export type RedisUse = 'client' | 'subscriber' | 'bclient';

/**
 * A connection of a queue, which comes back by itself for as long as it is not closed.
 *
 * To break off a blocking command, a queue that is paused or closed disconnects and calls `connect`, and nobody hears that
 * promise while jobs are still worked on. It is refused when the connection is on its way already, or when Redis is away; and a
 * refusal that nobody hears ends the process, with the jobs that it meant to finish. So here it never is: whether
 * Redis answers is said by events, and by QueueHealth.
 */
class QueueConnection extends Redis {
  override connect(): Promise<void> {
    return super.connect().catch(() => undefined);
  }
}

export function connectToRedis(url: string, use: RedisUse): Redis {
  const redis = new QueueConnection(url, {
    ...(use === 'client' ? ASKING : LISTENING),
    connectTimeout: 2000,
    retryStrategy: (times) => Math.min(1000, 50 * times),
  });
  redis.on('error', () => undefined); // Bull and QueueHealth report
  return redis;
}
