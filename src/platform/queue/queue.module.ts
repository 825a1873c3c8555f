import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { Config } from '../config/config.js';
import { QueueHealth } from './queue-health.js';
import { newRedis } from './redis-connection.js';

/** Options of connections for commands, which fail quickly if Redis does not respond. */
const ASKING: RedisOptions = { enableOfflineQueue: false, commandTimeout: 1500, maxRetriesPerRequest: 1 };
/** Options of blocking and subscribed connections, which wait by design. */
const LISTENING: RedisOptions = { maxRetriesPerRequest: null, enableReadyCheck: false };

/** RedisUse is the type of a connection, as passed to Bull's `createClient`. */
export type RedisUse = 'client' | 'subscriber' | 'bclient';

/**
 * QueueConnection is a connection of a queue. The connection reconnects until it is closed.
 *
 * To interrupt a blocking command, a queue that is paused or closed disconnects and calls `connect`. The promise of ioredis may stay pending while Redis
 * accepts connections but does not respond. The promise may also reject, because the connection is already opening or Redis is down; an unhandled rejection
 * would end the process together with its running jobs. This `connect` therefore resolves immediately; events and QueueHealth report whether Redis
 * responds.
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

/**
 * QueueModule provides Bull on Redis, which carries only job signals. lockDuration and maxStalledCount have little effect, because attempts and leases are
 * managed in rows.
 */
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
