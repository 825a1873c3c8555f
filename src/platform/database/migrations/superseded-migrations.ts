/** Newest migration that the baseline replaces. */
const LAST = 'EndsAtProviders1798000048200';
/** Commit of version 0.1.0 with all migrations that the baseline replaces. */
const COMMIT = '8d3b96758';

/** TooOldSchemaError reports a schema that this version cannot migrate. */
export class TooOldSchemaError extends Error {}

/** isSuperseded returns true if the baseline replaces a migration. The name of a migration ends with its creation time in milliseconds. */
export function isSuperseded(name: string): boolean {
  return Number(name.slice(-13)) <= Number(LAST.slice(-13));
}

/** tooOldFault returns why this version cannot migrate a database with these migrations, and the remedy; undefined if the migration is possible. */
export function tooOldFault(applied: readonly string[]): string | undefined {
  if (!applied.some(isSuperseded) || applied.includes(LAST)) return undefined;
  return `The schema of the database is older than the oldest one that this version can migrate. Run "sealwright-admin migrate" of version 0.1.0 (commit ${COMMIT}) first.`;
}
