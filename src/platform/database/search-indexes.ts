import type { DataSource, QueryRunner } from 'typeorm';
import { sqlState } from './database-error.js';
import { createIndexConcurrently } from './online-index.js';

export interface SearchIndex {
  readonly name: string;
  readonly table: string;
  /** What follows the table in CREATE INDEX. @param schema that of the operator classes for trigrams */
  readonly columns: (schema: string) => string;
  readonly needsTrigrams: boolean;
}

/**
 * Rows of a table from which on its search index is made. Up to here a search that reads every text takes about as long as people wait for any page
 * (docs/performance.md), while each new text costs the index some forty entries: taking a document in would take up to twice as long.
 */
const MIN_INDEXED_ROWS = 300_000;

/** Any part of a text is searched for (`name=*example*`) by its trigrams (PostgreSQL manual, pg_trgm), the beginning of a place by a B-tree. */
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
  'Searches by parts of names and locations have no index, which makes them slow on a large inventory. Have an administrator',
  'of the database run "CREATE EXTENSION pg_trgm" in it (Debian has it in the package postgresql), then migrate again. PostgreSQL says:',
].join(' ');

/**
 * Makes the search indexes that are missing or were broken off, of the tables that are large enough to need them. They are no migration: a table
 * grows into its index, and the extension that they need may come later, or never; the service does without them.
 *
 * @param says what takes long, or is not possible, one line each.
 */
export async function makeSearchIndexes(db: DataSource, says: (line: string) => void): Promise<void> {
  const absent = await absentSearchIndexes(db);
  if (absent.length === 0) return;
  const plain = absent.filter(({ needsTrigrams }) => !needsTrigrams);
  const byTrigrams = absent.filter(({ needsTrigrams }) => needsTrigrams);
  const runner = db.createQueryRunner();
  try {
    await makeNeeded(runner, plain, '', says);
    // Also before they are needed: an operator who may not have the extension learns that at set-up, not when the inventory has grown.
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
  // As a rule this is faster by a third than with what a server has set.
  await runner.query(`SET maintenance_work_mem = '256MB'`);
  for (const { name, table, columns } of needed) {
    says(`creating the index ${name}; the service can run at the same time`);
    await createIndexConcurrently(runner, name, table, columns(schema));
  }
  await runner.query('RESET maintenance_work_mem');
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
  if (row === undefined) throw new NoTrigrams('the extension is not installed');
  return row.schema;
}

/** Those that are needed and not there, or not complete. */
export async function missingSearchIndexes(db: DataSource): Promise<SearchIndex[]> {
  return (await absentSearchIndexes(db)).filter(isNeeded);
}

interface AbsentIndex extends SearchIndex {
  /** Of its table, as PostgreSQL counted them when it last vacuumed or analyzed; -1 when it never did. */
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
