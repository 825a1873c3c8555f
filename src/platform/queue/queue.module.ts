import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { Config } from '../config/config.js';
import { QueueHealth } from './queue-health.js';
import { newRedis } from './redis-connection.js';

/** Commands fail quickly if Redis does not respond, instead of waiting for it. */
const ASKING: RedisOptions = { enableOfflineQueue: false, commandTimeout: 1500, maxRetriesPerRequest: 1 };
/** Blocking and subscribed connections wait by design. */
const LISTENING: RedisOptions = { maxRetriesPerRequest: null, enableReadyCheck: false };

/** RedisUse is the type of a connection, as passed to Bull's `createClient`. */
export type RedisUse = 'client' | 'subscriber' | 'bclient';

/**
 * QueueConnection is a connection of a queue. It reconnects until it is closed.
 *
 * To interrupt a blocking command, a queue that is paused or closed disconnects and calls `connect`. Its promise may stay pending while Redis accepts
 * connections but does not respond. It may also be rejected, because the connection is already opening or Redis is down; if unhandled, the rejection would end
 * the process together with its running jobs. It therefore resolves immediately; events and QueueHealth report whether Redis responds.
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
    disconnectTimeout: 500, // maximum wait on shutdown for Redis to close the connection
    retryStrategy: (times) => Math.min(1000, 50 * times),
  };
  const redis = newRedis(config, options, QueueConnection);
  redis.on('error', () => undefined); // errors are reported by Bull and QueueHealth
  return redis;
}

/** Bull on Redis carries only job signals. lockDuration and maxStalledCount matter little, since attempts and leases are managed in rows. */
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
