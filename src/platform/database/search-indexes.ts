import type { DataSource, QueryRunner } from 'typeorm';
import { sqlState } from './database-error.js';
import { createIndexConcurrently } from './online-index.js';

export interface SearchIndex {
  readonly name: string;
  readonly table: string;
  readonly column: string;
  readonly where?: string;
}

/** Texts of which any part can be searched for (`name=*example*`), by their trigrams (PostgreSQL manual, pg_trgm). */
const SEARCH_INDEXES: readonly SearchIndex[] = [
  { name: 'asset_name_text', table: 'asset', column: 'name' },
  {
    name: 'asset_occurrence_location_text',
    table: 'asset_occurrence',
    column: 'location',
    where: `WHERE location <> ''`,
  },
];

const MISSING = [
  'Searches by parts of names and places have no index: they read the inventory in parts, which is slow when it is large. Have an administrator',
  'of the database run "CREATE EXTENSION pg_trgm" in it (Debian has it in the package postgresql), then migrate again. PostgreSQL says:',
].join(' ');

/**
 * Makes the search indexes that are missing or were broken off. They are no migration: the extension that they need may come later, or never,
 * and the service does without them.
 *
 * @param says what takes long, or is not possible, one line each.
 */
export async function makeSearchIndexes(db: DataSource, says: (line: string) => void): Promise<void> {
  const runner = db.createQueryRunner();
  try {
    const missing = await missingSearchIndexes(db);
    if (missing.length === 0) return;
    const schema = await trigramSchema(runner);
    // As a rule this is faster by a third than with what a server has set.
    await runner.query(`SET maintenance_work_mem = '256MB'`);
    for (const { name, table, column, where = '' } of missing) {
      says(`making the index ${name}; the service may run meanwhile`);
      const columns = `USING gin ("${column}" "${schema}".gin_trgm_ops) ${where}`;
      await createIndexConcurrently(runner, name, table, columns);
    }
    await runner.query('RESET maintenance_work_mem');
  } catch (error) {
    if (!(error instanceof NoTrigrams)) throw error;
    says(`${MISSING} ${error.message}`);
  } finally {
    await runner.release();
  }
}

/** PostgreSQL has no pg_trgm here, or does not let this user have it. */
class NoTrigrams extends Error {}

/** The schema that the extension is in, which is made if it is missing: the owner of a database may (it is a trusted extension). */
async function trigramSchema(runner: QueryRunner): Promise<string> {
  try {
    await runner.query('CREATE EXTENSION IF NOT EXISTS pg_trgm');
  } catch (error) {
    if (sqlState(error) === undefined) throw error;
    throw new NoTrigrams(error instanceof Error ? error.message : String(error));
  }
  const [row] = (await runner.query(
    `SELECT nspname AS schema FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE extname = 'pg_trgm'`,
  )) as { schema: string }[];
  if (row === undefined) throw new NoTrigrams('the extension is not there');
  return row.schema;
}

/** Those that are not there, or not complete. */
export async function missingSearchIndexes(db: DataSource): Promise<SearchIndex[]> {
  const rows: { name: string }[] = await db.query(
    'SELECT c.relname AS name FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE c.oid = ANY(SELECT to_regclass(n) FROM unnest($1::text[]) n) AND i.indisvalid',
    [SEARCH_INDEXES.map(({ name }) => name)],
  );
  return SEARCH_INDEXES.filter(({ name }) => !rows.some((row) => row.name === name));
}
