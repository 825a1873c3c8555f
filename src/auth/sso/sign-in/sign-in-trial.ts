import type { ClaimRule } from '../../model/identity-provider.entity.js';
import type { EntityManager } from 'typeorm';
import type { Claims } from '../../../access/identity/verified-identity.js';
import type { RoleName } from '../../../access/scopes.js';
import { Problem } from '../../../platform/errors/problem.js';
import { User } from '../../model/user.entity.js';
import { assertStrongEnough } from '../providers/authentication-context.js';
import { ExternalIdentity } from '../../model/external-identity.entity.js';
import { addressOf, assertNothingLeftOut, groupsOf, matchingRules, rolesOf } from '../providers/claim-rules.js';
import type { TestedNameFormat } from '../providers/saml-name-format.js';
import type { Assertion } from './assertion.js';

/** SignInTrial describes what a sign-in at a provider would do. */
export interface SignInTrial {
  readonly provider: string;
  /** Reason why the sign-in would be refused; null if the sign-in would succeed. */
  readonly problem: { readonly code: string; readonly detail: string; readonly reason: string | null } | null;
  readonly subject: string | null;
  readonly claims: Claims;
  readonly contexts: readonly string[];
  readonly methods: readonly string[];
  readonly matched: readonly ClaimRule[];
  readonly roles: readonly RoleName[];
  readonly groups: readonly string[];
  readonly account: { readonly email: string; readonly isNew: boolean } | null;
  /** The provider as tested, and the format of the NameID. Absent for OIDC, and if the response was refused. */
  readonly named?: TestedNameFormat;
}

/** Returns what a sign-in with this assertion would do, without changing anything. */
export async function trialOf(db: EntityManager, assertion: Assertion): Promise<SignInTrial> {
  const { provider, subject, claims, contexts, methods, nameFormat: format } = assertion;
  const known = await knownUser(db, assertion);
  const found = {
    provider: provider.name,
    subject,
    claims,
    contexts,
    methods,
    matched: matchingRules(claims, provider.rules),
    roles: rolesOf(claims, provider.rules, provider.defaultRoles) ?? [],
    groups: groupsOf(claims),
    ...(format === undefined ? {} : { named: { providerId: provider.id, version: provider.version, format } }),
  };
  try {
    const account = await accountOf(db, assertion, known);
    return { ...found, account, problem: null };
  } catch (error) {
    const account = known === null ? null : { email: known.email, isNew: false };
    return { ...found, account, problem: problemIn(error) };
  }
}

/** Returns the result of a test whose response was refused. */
export function refusedTrial(provider: string, error: unknown): SignInTrial {
  const nothing = {
    subject: null,
    claims: {},
    contexts: [],
    methods: [],
    matched: [],
    roles: [],
    groups: [],
    account: null,
  };
  return { provider, ...nothing, problem: problemIn(error) };
}

/** Applies the checks of a sign-in. @throws Problem */
async function accountOf(
  db: EntityManager,
  { provider, claims, contexts, withheld }: Assertion,
  known: User | null,
): Promise<SignInTrial['account']> {
  assertStrongEnough(provider, contexts);
  assertNothingLeftOut(claims, provider.rules, withheld);
  if (rolesOf(claims, provider.rules, provider.defaultRoles) === undefined) throw noRole();
  if (known?.disabled === true) throw accountDisabled();
  if (known !== null) return { email: known.email, isNew: false };
  const email = addressOf(claims);
  if (await db.existsBy(User, { email })) throw addressTaken();
  return { email, isNew: true };
}

async function knownUser(db: EntityManager, { provider, subject }: Assertion): Promise<User | null> {
  const identity = await db.findOneBy(ExternalIdentity, { providerId: provider.id, subject });
  return identity === null ? null : db.findOneBy(User, { id: identity.userId });
}

function problemIn(error: unknown): NonNullable<SignInTrial['problem']> {
  if (!(error instanceof Problem)) throw error;
  const { code, message, cause } = error;
  return { code, detail: message, reason: cause instanceof Error ? cause.message : null };
}

/** Returns the Problem for a sign-in that matches no rule, at a provider without default roles. */
export function noRole(): Problem {
  return new Problem(
    'forbidden',
    'sso.no-role',
    "None of this identity provider's rules grants you a role. Contact an administrator.",
  );
}

export function accountDisabled(): Problem {
  return new Problem('forbidden', 'sso.disabled', 'This account is disabled. Contact an administrator.');
}

/**
 * Returns the Problem for an email address that an existing account uses. An email address never identifies a person, so the account is assumed to belong to
 * someone else.
 */
/** @param provider name of another identity provider with the same issuer, which created the account */
export function addressTaken(provider?: string): Problem {
  const detail =
    provider === undefined
      ? 'An account with your email address exists, but it is not linked to this identity provider. Sign in to that account as before, or contact an administrator.'
      : `You already have an account through the identity provider "${provider}", which has the same issuer. Sign in there.`;
  return new Problem('forbidden', 'sso.address-taken', detail);
}
