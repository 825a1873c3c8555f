import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS } from '../database/migrations/migrations.js';
import { tooOldFault } from '../database/migrations/superseded-migrations.js';

/** PRODUCT_VERSION is the version of the product, from the package.json above `src` and `dist`. */
export const PRODUCT_VERSION = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as { version: string }
).version;

/**
 * PRODUCT_COMMIT is the commit of this build, for example `1f2e3d4c5b6a`. The value has the suffix `.modified` if the working tree had changes, and is
 * `unknown` if the sources run without a build.
 */
export const PRODUCT_COMMIT = readCommit(join(import.meta.dirname, '../../build.json'));

/** PRODUCT_BUILD distinguishes builds of the same version, in the format of Semantic Versioning 2.0.0 section 10: `1.4.0+1f2e3d4c5b6a`. */
export const PRODUCT_BUILD = `${PRODUCT_VERSION}+${PRODUCT_COMMIT}`;

function readCommit(file: string): string {
  if (!existsSync(file)) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { commit: string }).commit;
}

/**
 * SCHEMA_EPOCH is the schema requirement of this version. Increase the number by one when a migration removes a table or column, in the release after the
 * release that stopped using the table or column. The migration sets `schema_epoch` to the same number (docs/upgrade.md).
 */
export const SCHEMA_EPOCH = 1;

/** MIGRATION_NAMES lists the migrations of this version, oldest first, with the names in the table `migrations`. */
export const MIGRATION_NAMES = MIGRATIONS.map((Migration) => new Migration().name ?? Migration.name);

/** NEWEST_MIGRATION is the name of the newest migration of this version. */
export const NEWEST_MIGRATION = MIGRATION_NAMES.at(-1) ?? '';

/** SchemaState is the state of a database schema. */
export interface SchemaState {
  /** Names of the applied migrations; undefined if the table does not exist. */
  readonly applied: readonly string[] | undefined;
  /** Row of `schema_epoch`; undefined if the table does not exist yet. */
  readonly epoch: Epoch | undefined;
}

export interface Epoch {
  readonly minReader: number;
  readonly minWriter: number;
}

const NO_SCHEMA = [
  'The database has no schema yet. For a new installation, run "sealwright-admin migrate".',
  'If this database replaces a lost database, restore the backup first with "sealwright-admin restore run DIRECTORY" (docs/restore.md).',
].join(' ');

/**
 * schemaFault returns why this version cannot use a schema, and the remedy; undefined if the schema is compatible. A newer schema is accepted, unless its
 * epoch excludes this version.
 */
export function schemaFault({ applied, epoch }: SchemaState): string | undefined {
  if (applied === undefined || applied.length === 0) return NO_SCHEMA;
  const tooOld = tooOldFault(applied);
  if (tooOld !== undefined) return tooOld;
  const missing = MIGRATION_NAMES.filter((name) => !applied.includes(name));
  if (missing.length > 0) {
    return `The database schema is older than this version: ${missing.length} migrations are missing, starting with ${missing[0]}. Run "sealwright-admin migrate".`;
  }
  return epochFault(epoch);
}

/**
 * unappliedFault returns a fault if the schema lost migrations while the service was running, because the database was replaced or restored; undefined
 * otherwise.
 */
export function unappliedFault(applied: number): string | undefined {
  const missing = MIGRATION_NAMES.length - applied;
  if (missing <= 0) return undefined;
  return `migrations of this version that are not recorded as applied: ${missing}. The database was replaced, restored or modified manually. Run "sealwright-admin doctor".`;
}

/** epochFault is like schemaFault for the epoch alone, which can change while the service is running. */
export function epochFault(epoch: Epoch | undefined): string | undefined {
  if (epoch === undefined) return undefined;
  const least = Math.max(epoch.minReader, epoch.minWriter);
  if (SCHEMA_EPOCH >= least) return undefined;
  return `This version is too old for the database schema: it supports epoch ${SCHEMA_EPOCH}, but at least ${least} is required. Deploy the version that migrated the schema.`;
}
