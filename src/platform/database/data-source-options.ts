import { Client, type ClientConfig } from 'pg';
import { type DataSourceOptions, DefaultNamingStrategy } from 'typeorm';
import type { Config } from '../config/config.js';
import { MIGRATIONS } from './migrations/migrations.js';

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

/** Columns are snake_case, as SQL people expect; tables are named by their entity. */
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

/**
 * A connection that may be lost at any time. Pool and TypeORM each listen for its errors for a part of its life, and for a moment after
 * it opened neither does: a connection that the database ends in that moment (it is being stopped, or out of memory) would end the
 * process. The next query on it fails, and the pool removes it.
 */
export class DatabaseClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
