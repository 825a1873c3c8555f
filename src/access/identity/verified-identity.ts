import { createHash } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { claimMatches } from './claim-pattern.js';
import { pointerStep, stepsOf } from '../../platform/json/json-pointer.js';

/** The claims of a token (RFC 7519), or the attributes of an assertion (SAML), as their issuer signed them. */
export type Claims = Readonly<Record<string, unknown>>;

/** What an issuer proved about the run of a workload. */
export interface VerifiedIdentity {
  /** ID of the run: one token that was exchanged. */
  readonly id: string;
  /** The trust that the token met. */
  readonly trust: { readonly id: string; readonly name: string };
  readonly claims: Claims;
  /** SHA-256 of the signed part of the token (RFC 7515 section 5.1: header and payload as sent), base64. */
  readonly tokenSha256: string;
  /** Thumbprint of the issuer's key (RFC 7638, SHA-256), base64url. */
  readonly keyThumbprint: string;
}

/** A condition on a claim: one of its values must be one of these. Values are patterns, see `claimMatches`. */
export interface ClaimCondition {
  /** The name of a claim, or a JSON pointer (RFC 6901) into it: `repository`, `/kubernetes.io/namespace`. */
  readonly claim: string;
  readonly values: readonly string[];
}

/** SHA-256 of the canonical JSON of an identity, base64: what the log has of it. */
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
 * Returns the first condition that these claims do not meet; undefined if they meet all. A claim that is absent meets none. A claim that is a list must meet
 * a condition with every value, because the issuer could add an accepted value to any other. With `some`, one value is sufficient, for claims that this
 * service composes.
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

/** Whether conditions on the claims of a workload determine the issuer. Without one, every issuer can assert what they require. */
export function namesIssuer(conditions: readonly ClaimCondition[]): boolean {
  return conditions.some(({ claim }) => claim === 'iss' || claim === '/iss');
}

/** The values of a claim as text: of a list each item, of an object none. */
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

/** Whether a fact of a policy was verified, so that its values are compared as claims are. */
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

/** Numbers count if they are whole and exact, since others can be written in several ways. */
function textsOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).flatMap((one: unknown) =>
    typeof one === 'string' || typeof one === 'boolean' || Number.isSafeInteger(one) ? [String(one)] : [],
  );
}

/** The tokens of workloads: who reads the database cannot present one while it is valid, and auditors see them later. */
export const SEALED_WORKLOAD_TOKEN = {
  table: 'workload_identity',
  column: 'token',
  purpose: 'workload-token',
  place: 't.id::text',
} as const;
