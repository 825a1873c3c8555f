import type { DataSource, QueryRunner } from 'typeorm';
import { sqlState } from '../errors/database-error.js';
import { createIndexConcurrently } from './online-index.js';

export interface SearchIndex {
  readonly name: string;
  readonly table: string;
  /**
   * Everything after the table name in CREATE INDEX.
   * @param schema schema of the trigram operator classes
   */
  readonly columns: (schema: string) => string;
  readonly needsTrigrams: boolean;
}

/**
 * Number of rows from which a table gets its search index. With fewer rows, a search that scans the whole table takes about as long as any other list request
 * (docs/performance.md). The index needs about forty entries per text, and can make an import twice as slow.
 */
const MIN_INDEXED_ROWS = 300_000;

/** Searches for any part of a name (`name=*example*`) use trigrams (PostgreSQL manual, pg_trgm); searches for the beginning of a location use a B-tree. */
const SEARCH_INDEXES: readonly SearchIndex[] = [
  {
    name: 'asset_occurrence_location_start',
    table: 'asset_occurrence',
    columns: () => `("left"(location, 32) text_pattern_ops) WHERE location <> ''`,
    needsTrigrams: false,
  },
  {
    name: 'asset_name_text',
    table: 'asset',
    columns: (schema) => `USING gin (name "${schema}".gin_trgm_ops)`,
    needsTrigrams: true,
  },
  {
    name: 'asset_source_name_text',
    table: 'asset_source_name',
    columns: (schema) => `USING gin (name "${schema}".gin_trgm_ops)`,
    needsTrigrams: true,
  },
  {
    name: 'asset_occurrence_location_text',
    table: 'asset_occurrence',
    columns: (schema) => `USING gin (location "${schema}".gin_trgm_ops) WHERE location <> ''`,
    needsTrigrams: true,
  },
];

const MISSING = [
  'Searches for parts of names and locations are slow on a large inventory, because they have no index. Ask an administrator',
  'of the database to run "CREATE EXTENSION pg_trgm" (included in the Debian package postgresql), then migrate again. Error from PostgreSQL:',
].join(' ');

/**
 * makeSearchIndexes creates missing and invalid search indexes on tables that are large enough to need them. These indexes are not migrations, because a
 * table may grow later, and the required extension may be installed later or never. The service works without search indexes.
 *
 * @param says called with one line per step that is slow or not possible
 */
export async function makeSearchIndexes(db: DataSource, says: (line: string) => void): Promise<void> {
  const absent = await absentSearchIndexes(db);
  if (absent.length === 0) return;
  const plain = absent.filter(({ needsTrigrams }) => !needsTrigrams);
  const byTrigrams = absent.filter(({ needsTrigrams }) => needsTrigrams);
  const runner = db.createQueryRunner();
  try {
    await makeNeeded(runner, plain, '', says);
    // Installs the extension before any index needs it, so that an operator without the required privilege is informed at setup.
    if (byTrigrams.length > 0) await makeNeeded(runner, byTrigrams, await trigramSchema(runner), says);
  } catch (error) {
    if (!(error instanceof NoTrigrams)) throw error;
    says(`${MISSING} ${error.message}`);
  } finally {
    await runner.release();
  }
}

async function makeNeeded(
  runner: QueryRunner,
  absent: readonly AbsentIndex[],
  schema: string,
  says: (line: string) => void,
): Promise<void> {
  const needed = absent.filter(isNeeded);
  if (needed.length === 0) return;
  // With this setting, an index build is usually a third faster than with the server's default.
  await runner.query(`SET maintenance_work_mem = '256MB'`);
  for (const { name, table, columns } of needed) {
    says(`creating the index ${name} (the service can keep running)`);
    await createIndexConcurrently(runner, name, table, columns(schema));
  }
  await runner.query('RESET maintenance_work_mem');
}

/** NoTrigrams is thrown if PostgreSQL does not provide pg_trgm or does not allow this user to create the extension. */
class NoTrigrams extends Error {}

/** Returns the schema of the extension. Creates a missing extension, which the owner of a database may do, because pg_trgm is a trusted extension. */
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
  if (row === undefined) throw new NoTrigrams('the extension pg_trgm is not installed');
  return row.schema;
}

/** missingSearchIndexes returns indexes that are needed but missing or invalid. */
export async function missingSearchIndexes(db: DataSource): Promise<SearchIndex[]> {
  return (await absentSearchIndexes(db)).filter(isNeeded);
}

interface AbsentIndex extends SearchIndex {
  /** Estimated number of rows of the table, from the last VACUUM or ANALYZE; -1 if there was none. */
  readonly rows: number;
}

const isNeeded = ({ rows }: AbsentIndex) => rows >= MIN_INDEXED_ROWS;

async function absentSearchIndexes(db: DataSource): Promise<AbsentIndex[]> {
  const found: { name: string; rows: number }[] = await db.query(
    `SELECT s.name, t.reltuples::float8 AS rows FROM unnest($1::text[], $2::text[]) AS s (name, "table")
     JOIN pg_class t ON t.oid = to_regclass(s."table")
     WHERE NOT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass(s.name) AND i.indisvalid)`,
    [SEARCH_INDEXES.map(({ name }) => name), SEARCH_INDEXES.map(({ table }) => table)],
  );
  return SEARCH_INDEXES.flatMap((index) => {
    const absent = found.find(({ name }) => name === index.name);
    return absent === undefined ? [] : [{ ...index, rows: absent.rows }];
  });
}
