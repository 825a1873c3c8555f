import { type DataSourceOptions, DefaultNamingStrategy } from 'typeorm';
import type { Config } from '../config/config.js';
import { databaseClient } from './database-client.js';
import { MIGRATIONS } from './migrations/migrations.js';

export type PostgresOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

/**
 * dataSourceOptions returns TypeORM options with timeouts on both ends of a connection. PostgreSQL disables these timeouts by default, so an orphaned
 * transaction would hold its row locks for minutes.
 */
export function dataSourceOptions(config: Config): PostgresOptions {
  return {
    type: 'postgres',
    // DatabaseClient determines host and credentials for each connection.
    database: config.database.database,
    applicationName: `sealwright-${config.role}`,
    namingStrategy: new SnakeNaming(),
    synchronize: false,
    migrationsRun: false,
    migrations: MIGRATIONS,
    migrationsTransactionMode: 'each',
    installExtensions: false,
    poolSize: config.databasePool,
    poolErrorHandler: () => undefined, // a broken idle connection is replaced by the next query
    extra: {
      Client: databaseClient(config),
      connectionTimeoutMillis: 2000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      query_timeout: 15_000,
      statement_timeout: 10_000,
      lock_timeout: 5000,
      idle_in_transaction_session_timeout: 15_000,
    },
  };
}

/** Converts column names to snake_case, as is usual in SQL. Entities specify their table names explicitly. */
class SnakeNaming extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined, embeddedPrefixes: string[]): string {
    return snake([...embeddedPrefixes, customName ?? propertyName].join('_'));
  }

  override joinColumnName(relationName: string, referencedColumnName: string): string {
    return snake(`${relationName}_${referencedColumnName}`);
  }
}

function snake(text: string): string {
  return text.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
}
