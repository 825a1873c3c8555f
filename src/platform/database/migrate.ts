import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { databaseClient, onAnyHost } from './database-client.js';
import { dataSourceOptions } from './data-source-options.js';
import { sqlState } from './database-error.js';
import { makeSearchIndexes } from './search-indexes.js';

/** Any number; the same in every version, so that two instances that start together do not migrate together. */
const MIGRATION_LOCK = 7_310_119;
/**
 * A statement that needs a table for itself waits no longer than this: everybody who comes after it waits as well, also those who only read.
 * It is tried again later, until the table is free for a moment.
 */
const LOCK_TIMEOUT_MS = 2000;
const MAX_TRIES = 60;
const PAUSE_MS = 1000;
const LOCK_NOT_AVAILABLE = '55P03';
/** Jobs that compare what is derived with what it is derived from are due at once: an earlier version may not have known how to keep it. */
const RECONCILE = `UPDATE job_lease SET last_success_at = NULL WHERE name LIKE 'reconcile-%'`;

/**
 * Applies the migrations that are missing and answers their names.
 *
 * @param says what takes long, one line each.
 */
export function migrateDatabase(config: Config, says: (line: string) => void): Promise<string[]> {
  return changeSchema(config, says, async (db) => {
    const applied = await applyAll(db, says);
    if (applied.length > 0) await db.query(RECONCILE);
    await makeSearchIndexes(db, says);
    return applied;
  });
}

/** Makes the search indexes that the inventory has grown to need, beside the load. @param says as for migrations. */
export function growSearchIndexes(config: Config, says: (line: string) => void): Promise<void> {
  return changeSchema(config, says, (db) => makeSearchIndexes(db, says));
}

/**
 * Does what changes the schema; a second process waits. The lock is that of a transaction, so that a pool of connections in between changes
 * nothing, and it is tried instead of waited for: a statement that waits holds a snapshot, and an index that is made concurrently waits for that
 * in turn.
 */
async function changeSchema<Result>(
  config: Config,
  says: (line: string) => void,
  work: (db: DataSource) => Promise<Result>,
): Promise<Result> {
  // It may take longer than any query of the service may.
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
    // The transaction is open, and idle, until the migrations are done.
    await keeper.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    // Without a parameter: the portal of a statement that has some stays open with its snapshot, for which a concurrent index would wait.
    const [row] = (await keeper.query(`SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS mine`)) as {
      mine: boolean;
    }[];
    if (row?.mine === true) return;
    await keeper.rollbackTransaction();
    if (tries === 1) says('another process is migrating; waiting for it');
    await sleep(PAUSE_MS);
  }
}

/** Each migration is a transaction of its own, so those that were applied before one that failed stay. */
async function applyAll(db: DataSource, says: (line: string) => void): Promise<string[]> {
  const before = await appliedIn(db);
  for (let tries = 1; ; tries += 1) {
    try {
      await db.runMigrations({ transaction: 'each' });
      return (await appliedIn(db)).filter((name) => !before.includes(name));
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries === MAX_TRIES) throw error;
      says('a table is in use; trying again');
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
