import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS } from '../database/migrations/migrations.js';
import { tooOldFault } from '../database/migrations/superseded-migrations.js';

/** PRODUCT_VERSION is the version of the product, from the package.json above `src` and `dist`. */
export const PRODUCT_VERSION = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as { version: string }
).version;

/**
 * PRODUCT_COMMIT names the sources of this build, for example `1f2e3d4c5b6a`. It ends in `.modified` if the work tree had changes, and is
 * `unknown` for sources that run without a build.
 */
export const PRODUCT_COMMIT = readCommit(join(import.meta.dirname, '../../build.json'));

/** PRODUCT_BUILD tells two builds of the same version apart, as Semantic Versioning 2.0.0 section 10 writes it: `1.4.0+1f2e3d4c5b6a`. */
export const PRODUCT_BUILD = `${PRODUCT_VERSION}+${PRODUCT_COMMIT}`;

function readCommit(file: string): string {
  if (!existsSync(file)) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { commit: string }).commit;
}

/**
 * What this version requires of a schema, as a number. It is raised by one together with a migration that removes something, in the release
 * after the one that stopped using it; that migration raises `schema_epoch` to the same number (docs/upgrade.md).
 */
export const SCHEMA_EPOCH = 1;

/** Names of the migrations of this version, oldest first, as `migrations` has them. */
export const MIGRATION_NAMES = MIGRATIONS.map((Migration) => new Migration().name ?? Migration.name);

/** Name of the newest migration that this version knows. */
export const NEWEST_MIGRATION = MIGRATION_NAMES.at(-1) ?? '';

/** What a database says about its schema. */
export interface SchemaState {
  /** Names of the migrations that were applied; undefined when the database has no such table. */
  readonly applied: readonly string[] | undefined;
  /** The row of `schema_epoch`; undefined before the migration that makes it. */
  readonly epoch: Epoch | undefined;
}

export interface Epoch {
  readonly minReader: number;
  readonly minWriter: number;
}

const NO_SCHEMA = [
  'The database has no schema yet. For a new installation run: sealwright-admin migrate.',
  'If this database replaces a lost one, restore the backup first: sealwright-admin restore run DIRECTORY (docs/restore.md)',
].join(' ');

/** Answers why this version cannot work on a schema, and what to do; undefined when it can. A schema that knows more than this version is right. */
export function schemaFault({ applied, epoch }: SchemaState): string | undefined {
  if (applied === undefined || applied.length === 0) return NO_SCHEMA;
  const tooOld = tooOldFault(applied);
  if (tooOld !== undefined) return tooOld;
  const missing = MIGRATION_NAMES.filter((name) => !applied.includes(name));
  if (missing.length > 0) {
    return `The schema of the database is older than this version: ${missing.length} migrations are missing, the first is ${missing[0]}. Run: sealwright-admin migrate`;
  }
  return epochFault(epoch);
}

/** unappliedFault reports a schema that lost migrations while the service runs: the database was replaced or restored under it. */
export function unappliedFault(applied: number): string | undefined {
  const missing = MIGRATION_NAMES.length - applied;
  if (missing <= 0) return undefined;
  return `${missing} migrations of this version are not recorded as applied: the database was replaced, restored or changed by hand. Run: sealwright-admin doctor`;
}

/** The same, about the epoch alone: what can change while the service runs. */
export function epochFault(epoch: Epoch | undefined): string | undefined {
  if (epoch === undefined) return undefined;
  const least = Math.max(epoch.minReader, epoch.minWriter);
  if (SCHEMA_EPOCH >= least) return undefined;
  return `This version is too old for the schema of the database (epoch ${SCHEMA_EPOCH}, at least ${least} is required). Deploy the version that migrated the schema; this version does not work on it.`;
}
