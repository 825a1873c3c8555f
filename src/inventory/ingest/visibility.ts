import type { DataSource } from 'typeorm';

const TABLES = 'asset, asset_occurrence, asset_relationship';
/** Indexes are left alone: there is nothing in them to take out. The end of a table is too: to cut it off, everybody would be kept out. */
const OPTIONS = 'SKIP_LOCKED, INDEX_CLEANUP OFF, TRUNCATE OFF';
/** Somebody waits for the answer. What is noted by then is noted. */
const MAX_MS = 15_000;

/**
 * Notes of new pages that everybody sees all of them (PostgreSQL manual, "Visibility Map"). Until then who reads by an index looks into the
 * table as well, and who comes first marks every row. Costs a look at each page that changed since the last time.
 */
export async function makeVisible(db: DataSource): Promise<void> {
  const runner = db.createQueryRunner();
  try {
    await runner.query(`SET statement_timeout = ${MAX_MS}`);
    await runner.query(`VACUUM (${OPTIONS}) ${TABLES}`);
  } catch {
    // The document is in. Autovacuum does the same a minute or more later.
  } finally {
    await runner.query('RESET statement_timeout').catch(() => undefined);
    await runner.release();
  }
}
