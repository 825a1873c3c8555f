import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { databaseClient, onAnyHost } from './database-client.js';
import { dataSourceOptions } from './data-source-options.js';
import { sqlState } from '../errors/database-error.js';
import { makeSearchIndexes } from './search-indexes.js';

/** Key of the advisory lock for migrations. The key is the same in every version, so that instances that start together do not migrate concurrently. */
const MIGRATION_LOCK = 7_310_119;
/**
 * Maximum wait for an exclusive table lock. All later statements on the table, including reads, queue behind the lock request, so the migration gives up
 * and retries later.
 */
const LOCK_TIMEOUT_MS = 2000;
const MAX_TRIES = 60;
const PAUSE_MS = 1000;
const LOCK_NOT_AVAILABLE = '55P03';
/** Makes the jobs that reconcile derived data due immediately, because an earlier version may not have maintained the data. */
const RECONCILE = `UPDATE job_lease SET last_success_at = NULL WHERE name LIKE 'reconcile-%'`;

/**
 * migrateDatabase applies pending migrations and returns their names.
 *
 * @param says called with one line per slow step
 */
export function migrateDatabase(config: Config, says: (line: string) => void): Promise<string[]> {
  return changeSchema(config, says, async (db) => {
    const applied = await applyAll(db, says);
    if (applied.length > 0) await db.query(RECONCILE);
    await makeSearchIndexes(db, says);
    return applied;
  });
}

/**
 * growSearchIndexes creates the search indexes that a grown inventory needs, without blocking writes.
 * @param says as in migrateDatabase
 */
export function growSearchIndexes(config: Config, says: (line: string) => void): Promise<void> {
  return changeSchema(config, says, (db) => makeSearchIndexes(db, says));
}

/**
 * Runs `work` while holding the migration lock. Other processes wait for the lock. The lock belongs to a transaction, so that locking also works through a
 * connection pooler. The lock is polled, because a waiting statement would hold a snapshot, and a concurrent index build would wait for that snapshot.
 */
async function changeSchema<Result>(
  config: Config,
  says: (line: string) => void,
  work: (db: DataSource) => Promise<Result>,
): Promise<Result> {
  // No statement timeout, because migrations may take longer than any query of the service.
  const extra = { Client: databaseClient(config), lock_timeout: LOCK_TIMEOUT_MS };
  const db = await onAnyHost(config, () => new DataSource({ ...dataSourceOptions(config), extra }).initialize());
  const keeper = db.createQueryRunner();
  try {
    await lock(keeper, says);
    return await work(db);
  } finally {
    if (keeper.isTransactionActive) await keeper.rollbackTransaction().catch(() => undefined);
    await keeper.release();
    await db.destroy();
  }
}

async function lock(keeper: QueryRunner, says: (line: string) => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await keeper.startTransaction();
    // The transaction stays open and idle until the migrations are done.
    await keeper.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    // No parameters: a parameterized statement leaves its portal and snapshot open, and a concurrent index build would wait for the snapshot.
    const [row] = (await keeper.query(`SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS mine`)) as {
      mine: boolean;
    }[];
    if (row?.mine === true) return;
    await keeper.rollbackTransaction();
    if (tries === 1) says('waiting for another process that is migrating the database');
    await sleep(PAUSE_MS);
  }
}

/** Applies pending migrations and returns their names. Each migration has its own transaction, so migrations that were applied before a failure remain. */
async function applyAll(db: DataSource, says: (line: string) => void): Promise<string[]> {
  const before = await appliedIn(db);
  for (let tries = 1; ; tries += 1) {
    try {
      await db.runMigrations({ transaction: 'each' });
      return (await appliedIn(db)).filter((name) => !before.includes(name));
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries === MAX_TRIES) throw error;
      says('a table is in use, retrying');
      await sleep(PAUSE_MS);
    }
  }
}

async function appliedIn(db: DataSource): Promise<string[]> {
  const [table] = (await db.query(`SELECT to_regclass('migrations') IS NOT NULL AS "exists"`)) as { exists: boolean }[];
  if (table?.exists !== true) return [];
  const rows: { name: string }[] = await db.query('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}
