import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { QueueHealth } from './queue-health.js';
import { connectToRedis, type RedisUse } from './redis-connection.js';

/** Bull on Redis: doorbells only. lockDuration and maxStalledCount matter little, since the rows own attempts and leases. */
@Global()
@Module({
  imports: [
    BullModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        prefix: `{${config.redisPrefix}}`,
        createClient: (use: RedisUse) => connectToRedis(config.redisUrl, use),
        settings: { lockDuration: 30_000, stalledInterval: 5000, maxStalledCount: 1000, retryProcessDelay: 500 },
      }),
    }),
  ],
  providers: [QueueHealth],
  exports: [QueueHealth],
})
export class QueueModule {}
