import { isDeepStrictEqual } from 'node:util';
import { scopesBeyond, type Scope } from '../../access/scopes.js';

/** Returns the version of an API key or OAuth client, which is also used as the ETag. */
export function versionOf({ revision }: { readonly revision: number | null }): number {
  return revision ?? 1;
}

/** Differences are the facts about a credential that a change replaces, before and after the change, for the audit entry. */
export interface Differences<Facts> {
  readonly before: Partial<Facts>;
  readonly after: Partial<Facts>;
}

/** Returns the facts that a change replaces with other values; undefined if the change replaces no facts. */
export function differencesOf<Facts extends object>(
  now: Facts,
  change: Partial<Facts>,
): Differences<Facts> | undefined {
  const names = (Object.keys(now) as (keyof Facts & string)[]).filter(
    (name) => change[name] !== undefined && !isDeepStrictEqual(now[name], change[name]),
  );
  const pick = (from: Partial<Facts>) => Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<Facts>;
  return names.length === 0 ? undefined : { before: pick(now), after: pick(change) };
}

/**
 * Returns the error for permissions that a credential does not have; undefined if the credential has all wanted permissions. Additional permissions require a
 * new credential, whose audit entry and owner show who granted the permissions.
 */
export function faultOfPermissions(now: readonly Scope[], wanted: readonly Scope[]) {
  const more = scopesBeyond(new Set(now), wanted);
  if (more.length === 0) return undefined;
  const detail = `a change can only remove permissions; to grant ${more.join(', ')}, create a new credential`;
  return { detail: `/permissions: ${detail}.`, errors: [{ pointer: '/permissions', detail }] };
}
