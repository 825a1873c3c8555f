import { createHash } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { claimMatches } from './claim-pattern.js';
import { pointerStep, stepsOf } from '../../platform/json/json-pointer.js';

/** The claims of a token (RFC 7519) or the attributes of a SAML assertion, as signed by the issuer. */
export type Claims = Readonly<Record<string, unknown>>;

/** The verified identity of a workload run. */
export interface VerifiedIdentity {
  /** ID of the run, which is one token exchange. */
  readonly id: string;
  /** The workload trust that the token matched. */
  readonly trust: { readonly id: string; readonly name: string };
  readonly claims: Claims;
  /** SHA-256 of the signed part of the token (RFC 7515 section 5.1: header and payload as sent), base64. */
  readonly tokenSha256: string;
  /** Thumbprint of the issuer's key (RFC 7638, SHA-256), base64url. */
  readonly keyThumbprint: string;
}

/** A condition on a claim: the claim must match one of the patterns in `values` (`claimMatches`). For claims with several values, see `unmetCondition`. */
export interface ClaimCondition {
  /** The name of a claim, or a JSON pointer (RFC 6901) to a nested claim: `repository`, `/kubernetes.io/namespace`. */
  readonly claim: string;
  readonly values: readonly string[];
}

/** Returns the SHA-256 of an identity's canonical JSON, base64, as recorded in the audit log. */
export function identitySha256(identity: VerifiedIdentity): string {
  return createHash('sha256').update(canonicalJson(identity)).digest('base64');
}

/** Returns the log details of a verified identity; empty for callers that are not workloads. */
export function loggedIdentity(identity: VerifiedIdentity | null): Record<string, unknown> {
  if (identity === null) return {};
  const { iss: issuer, sub: subject } = identity.claims;
  return { issuer, subject, trust: identity.trust.name, identitySha256: identitySha256(identity) };
}

/**
 * Returns the first condition that the claims do not meet; undefined if the claims meet all conditions. An absent claim does not meet any condition. Every
 * value of a list claim must meet the condition. Otherwise, adding a single accepted value to the list would be enough to meet the condition. With `some`, one
 * accepted value is sufficient; use `some` for claims that this service composes.
 */
export function unmetCondition(
  conditions: readonly ClaimCondition[],
  claims: Claims,
  values: 'every' | 'some' = 'every',
): ClaimCondition | undefined {
  return conditions.find(({ claim, values: accepted }) => {
    const given = claimValues(claims, claim);
    const isAccepted = (value: string) => accepted.some((wanted) => claimMatches(wanted, value));
    return values === 'some' ? !given.some(isAccepted) : given.length === 0 || !given.every(isAccepted);
  });
}

/** Reports whether the conditions on a workload's claims name the issuer. Without such a condition, any issuer can assert the required claims. */
export function namesIssuer(conditions: readonly ClaimCondition[]): boolean {
  return conditions.some(({ claim }) => claim === 'iss' || claim === '/iss');
}

/** Returns the values of a claim as strings: each item of a list, or no value for an object. */
export function claimValues(claims: Claims, claim: string): string[] {
  return textsOf(claim.startsWith('/') ? valueAt(claims, stepsOf(claim)) : own(claims, claim));
}

const MAX_FACTS = 300;
const MAX_DEPTH = 4;

/**
 * Returns the facts of an identity that policy conditions can name: `verified.<claim>`, `verified.<JSON pointer>` for nested claims, and `trust` with the
 * name and the ID of the trust.
 */
export function identityFacts({ claims, trust }: VerifiedIdentity): Record<string, string[]> {
  const facts = new Map<string, string[]>();
  for (const [name, value] of Object.entries(claims)) {
    // A name that starts with a slash would be mistaken for the JSON pointer of a nested claim.
    if (name.startsWith('/')) continue;
    const texts = textsOf(value);
    if (texts.length > 0) facts.set(`verified.${name}`, texts);
    else addNested(facts, `/${pointerStep(name)}`, value, 1);
  }
  return { ...Object.fromEntries(facts), trust: [trust.name, trust.id] };
}

/** Reports whether a policy fact is verified. The values in a condition on a verified fact are claim patterns. */
export function isVerifiedFact(fact: unknown): boolean {
  return fact === 'trust' || (typeof fact === 'string' && fact.startsWith('verified.'));
}

function addNested(facts: Map<string, string[]>, pointer: string, value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > MAX_DEPTH) return;
  for (const [name, inner] of Object.entries(value)) {
    if (facts.size >= MAX_FACTS) return;
    const place = `${pointer}/${pointerStep(name)}`;
    const texts = textsOf(inner);
    if (texts.length > 0) facts.set(`verified.${place}`, texts);
    else addNested(facts, place, inner, depth + 1);
  }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = own(found, name);
  return found;
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Claims)[name] : undefined;
}

/**
 * Returns a value, or the items of a list, as strings. Numbers other than safe integers are omitted, because the same number can be written in several ways.
 */
function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).flatMap((one: unknown) =>
    typeof one === 'string' || typeof one === 'boolean' || Number.isSafeInteger(one) ? [String(one)] : [],
  );
}

/** The encrypted column that stores workload tokens. Auditors can view the tokens later, but someone who can only read the database cannot use them. */
export const SEALED_WORKLOAD_TOKEN = {
  table: 'workload_identity',
  column: 'token',
  purpose: 'workload-token',
  place: 't.id::text',
} as const;
