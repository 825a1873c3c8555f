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
