import type { DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config.js';
import { DatabaseClient } from './database-client.js';
import { MIGRATIONS } from './migrations/migrations.js';
import { SnakeNaming } from './snake-naming.js';

/**
 * Both ends give up on a silent connection: PostgreSQL's own defaults for these time-outs are "never",
 * and an orphan transaction would hold its row locks for minutes.
 */
export function dataSourceOptions(config: Config): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url: config.databaseUrl,
    applicationName: `sealwright-${config.role}`,
    namingStrategy: new SnakeNaming(),
    synchronize: false,
    migrationsRun: false,
    migrations: MIGRATIONS,
    migrationsTransactionMode: 'each',
    installExtensions: false,
    poolSize: config.databasePool,
    poolErrorHandler: () => undefined, // an idle connection that was cut is replaced by the next query
    extra: {
      Client: DatabaseClient,
      connectionTimeoutMillis: 2000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      query_timeout: 15_000,
      statement_timeout: 10_000,
      lock_timeout: 5000,
      idle_in_transaction_session_timeout: 15_000,
      options: '-c tcp_user_timeout=10000 -c synchronous_commit=on',
    },
  };
}
