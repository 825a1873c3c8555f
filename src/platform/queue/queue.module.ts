import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { Redis, type RedisOptions } from 'ioredis';
import { Config } from '../config/config.js';
import { RelayLoop } from '../outbox/relay-loop.js';
import { QueueHealth } from './queue-health.js';

/** A command that Redis does not answer fails soon, instead of hanging until it comes back. */
const ASKING: RedisOptions = { enableOfflineQueue: false, commandTimeout: 1500, maxRetriesPerRequest: 1 };
/** Blocking and subscribed connections wait by design. */
const LISTENING: RedisOptions = { maxRetriesPerRequest: null, enableReadyCheck: false };

function connect(config: Config, type: 'client' | 'subscriber' | 'bclient'): Redis {
  const redis = new Redis(config.redisUrl, {
    ...(type === 'client' ? ASKING : LISTENING),
    connectTimeout: 2000,
    retryStrategy: (times) => Math.min(1000, 50 * times),
  });
  redis.on('error', () => undefined); // Bull and QueueHealth report
  return redis;
}

/** Bull on Redis: doorbells only. lockDuration and maxStalledCount matter little, since the rows own attempts and leases. */
@Global()
@Module({
  imports: [
    BullModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        prefix: `{${config.redisPrefix}}`,
        createClient: (type: 'client' | 'subscriber' | 'bclient') => connect(config, type),
        settings: { lockDuration: 30_000, stalledInterval: 5000, maxStalledCount: 1000, retryProcessDelay: 500 },
      }),
    }),
  ],
  providers: [QueueHealth, RelayLoop],
  exports: [QueueHealth, RelayLoop],
})
export class QueueModule {}
