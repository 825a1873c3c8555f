import type { RoleName } from '../scopes.js';

/** `groups equals release-managers → operator`. */
export interface ClaimRule {
  readonly claim: string;
  readonly op: 'equals' | 'prefix';
  readonly value: string;
  readonly roles: readonly RoleName[];
}

export type Claims = Readonly<Record<string, unknown>>;

/** All roles of all rules that match, else the default; undefined when nobody knows the person. */
export function rolesOf(
  claims: Claims,
  rules: readonly ClaimRule[],
  fallback: readonly RoleName[] | null,
): RoleName[] | undefined {
  const matching = rules.filter((rule) => valuesOf(claims[rule.claim]).some((value) => matches(rule, value)));
  if (matching.length > 0) return [...new Set(matching.flatMap(({ roles }) => roles))];
  return fallback === null ? undefined : [...fallback];
}

function matches({ op, value }: ClaimRule, claim: string): boolean {
  return op === 'equals' ? claim === value : claim.startsWith(value);
}

/** A claim may be one text or a list of texts; anything else matches nothing. */
function valuesOf(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim]).filter((value): value is string => typeof value === 'string');
}

/** The first of the claims that holds a text. */
export function textOf(claims: Claims, ...names: string[]): string | undefined {
  return names.flatMap((name) => valuesOf(claims[name]))[0];
}

/** Where providers name the groups of a person: OIDC by convention, LDAP and Keycloak, ADFS, Entra ID. */
const GROUP_CLAIMS = [
  'groups',
  'memberOf',
  'http://schemas.xmlsoap.org/claims/Group',
  'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
];
const MOST_GROUPS = 1000;
const LONGEST_GROUP = 256;

/** The groups that the provider says the person is in. */
export function groupsOf(claims: Claims): string[] {
  const named = GROUP_CLAIMS.flatMap((name) => valuesOf(claims[name])).filter(({ length }) => length <= LONGEST_GROUP);
  return [...new Set(named)].slice(0, MOST_GROUPS);
}
