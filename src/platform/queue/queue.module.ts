import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { Config } from '../config/config.js';
import { QueueHealth } from './queue-health.js';
import { newRedis } from './redis-connection.js';

/** A command that Redis does not answer fails soon, instead of hanging until it comes back. */
const ASKING: RedisOptions = { enableOfflineQueue: false, commandTimeout: 1500, maxRetriesPerRequest: 1 };
/** Blocking and subscribed connections wait by design. */
const LISTENING: RedisOptions = { maxRetriesPerRequest: null, enableReadyCheck: false };

/** Use of a connection, in the words of Bull's `createClient`. */
export type RedisUse = 'client' | 'subscriber' | 'bclient';

/**
 * A connection of a queue, which comes back by itself for as long as it is not closed.
 *
 * To break off a blocking command, a queue that is paused or closed disconnects and calls `connect`. It may wait for that promise
 * without end, for as long as Redis takes connections and does not answer; and when it is rejected, since the connection is being opened
 * already or Redis is away, the rejection may be unhandled, which ends the process with the jobs that it meant to finish. So here it
 * resolves at once: events and QueueHealth report whether Redis answers.
 */
class QueueConnection extends Redis {
  override async connect(): Promise<void> {
    super.connect().catch(() => undefined);
  }
}

function connectToRedis(config: Config, use: RedisUse): Redis {
  const options: RedisOptions = {
    ...(use === 'client' ? ASKING : LISTENING),
    connectTimeout: 2000,
    disconnectTimeout: 500, // so long a stop waits for a Redis that does not hang up
    retryStrategy: (times) => Math.min(1000, 50 * times),
  };
  const redis = newRedis(config, options, QueueConnection);
  redis.on('error', () => undefined); // Bull and QueueHealth report
  return redis;
}

/** Bull on Redis carries job signals only. lockDuration and maxStalledCount matter little, since the rows own attempts and leases. */
@Global()
@Module({
  imports: [
    BullModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        prefix: `{${config.redisPrefix}}`,
        createClient: (use: RedisUse) => connectToRedis(config, use),
        settings: { lockDuration: 30_000, stalledInterval: 5000, maxStalledCount: 1000, retryProcessDelay: 500 },
      }),
    }),
  ],
  providers: [QueueHealth],
  exports: [QueueHealth],
})
export class QueueModule {}
