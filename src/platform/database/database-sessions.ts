import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Client } from 'pg';
import { Config, ConfigError } from '../config/config.js';
import { databaseClient } from './database-client.js';

const STATEMENT_TIMEOUT_MS = 9876;
const ROUNDS = 3;

/**
 * DatabaseSessions rejects connection poolers that assign a server per transaction (pgbouncer: pool_mode=transaction), because session settings, locks and
 * temporary objects would leak to other clients. The check opens two connections, which must have different server processes and keep their settings.
 */
@Injectable()
export class DatabaseSessions implements OnModuleInit {
  constructor(private readonly config: Config) {}

  /** Throws ConfigError. If the database does not respond, nothing is checked. */
  async onModuleInit(): Promise<void> {
    const DatabaseClient = databaseClient(this.config);
    const limits = { connectionTimeoutMillis: 2000, query_timeout: 2000 };
    const [one, two] = [
      new DatabaseClient({ ...limits, statement_timeout: STATEMENT_TIMEOUT_MS }),
      new DatabaseClient(limits),
    ];
    try {
      await one.connect();
      await two.connect();
      for (let round = 0; round < ROUNDS; round += 1) {
        const [own, other] = [await lookAt(one), await lookAt(two)];
        if (own.pid === other.pid || own.timeout !== STATEMENT_TIMEOUT_MS) throw new ConfigError([FAULT]);
      }
    } catch (error) {
      if (error instanceof ConfigError) throw error;
    } finally {
      await Promise.all([one, two].map((client) => client.end().catch(() => undefined)));
    }
  }
}

const FAULT =
  'SVC_DATABASE_URL connects to a pooler that does not preserve sessions (PgBouncer with pool_mode=transaction or statement), so timeouts, locks and temporary tables would be shared with other clients. Set pool_mode=session for this database, or connect directly';

async function lookAt(client: Client): Promise<{ pid: number; timeout: number }> {
  const { rows } = await client.query<{ pid: number; timeout: number }>(
    `SELECT pg_backend_pid() AS pid, (SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout') AS timeout`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no rows');
  return row;
}
