import type { Claims } from '../../../access/identity/verified-identity.js';
import { Problem } from '../../../platform/errors/problem.js';
import { isStorable } from '../../../platform/text/storable-text.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';

/** A provider's verified assertion about a person. */
export interface Assertion {
  readonly transactionId: string;
  readonly provider: IdentityProvider;
  /** The provider's permanent identifier for the person. */
  readonly subject: string;
  readonly claims: Claims;
  readonly methods: string[];
  /** Authentication contexts: `acr` in OIDC, every AuthnContextClassRef in SAML. */
  readonly contexts: readonly string[];
  readonly externalSession: string | null;
  /** Hint for a logout at the provider: the OIDC ID token as received, or the SAML NameID as JSON; null if the hint is too long. */
  readonly logoutHint: string | null;
  /** Time at which the person authenticated at the provider; null if not reported. */
  readonly authenticatedAt: Date | null;
  /** Time at which the provider ends the session; undefined if not reported. */
  readonly sessionEnd?: Date | undefined;
  /** Format of the SAML NameID; undefined for OIDC. */
  readonly nameFormat?: string;
  /** Requested scopes that the provider did not grant. */
  readonly withheld?: readonly string[];
}

/**
 * Maximum length of a subject or session ID, both of which are indexed. OpenID Connect Core section 2 allows 255 characters for a subject, and SAML core
 * section 8.3.7 allows 256 characters for a persistent NameID.
 */
const MAX_IDENTIFIER_LENGTH = 500;
/** Maximum number of authentication contexts, which the audit log records at each sign-in. Contexts are URIs or short names. */
const MAX_CONTEXTS = 20;
const MAX_CONTEXT_LENGTH = 500;
/**
 * MAX_CONTEXT_CHARACTERS is the maximum total length of the contexts. Longer contexts would fill the audit entry, and SIEM streams would omit the other facts
 * of the entry.
 */
const MAX_CONTEXT_CHARACTERS = 2000;
/** MAX_SKEW_MS is how far in the future an authentication time may be. Later times are ignored. */
const MAX_SKEW_MS = 10 * 60_000;
/** MAX_SESSION_MS limits the end of the session at the provider. No session of the service lasts that long, and PostgreSQL has a maximum timestamp. */
const MAX_SESSION_MS = 10 * 366 * 24 * 3600_000;
/**
 * MAX_LOGOUT_HINT is the maximum length of the logout hint. A longer hint does not fit in a logout URL, and the hint is stored in every sign-in and session
 * row.
 */
const MAX_LOGOUT_HINT = 8192;
/** Maximum nesting of claims; deeper claims cannot be serialized as JSON. */
const MAX_CLAIM_DEPTH = 32;
/** Maximum length of an authentication method. The names in RFC 8176 have at most 6 characters. */
const MAX_METHOD_LENGTH = 100;

/**
 * boundedAssertion rejects identifiers, contexts and claims that are too long, too deep, or cannot be stored unchanged. It omits authentication
 * methods that are too long or cannot be stored, omits authentication times before 1970 or in the future, omits a logout hint that is too long, and
 * limits the end of the session.
 * PostgreSQL does not accept NUL and replaces unpaired surrogates, so the row would not match its seal.
 *
 * @throws Problem `sso.refused`
 */
export function boundedAssertion(assertion: Assertion): Assertion {
  const { subject, externalSession, contexts, methods, authenticatedAt, sessionEnd, logoutHint } = assertion;
  for (const identifier of [subject, externalSession ?? ''])
    assertStorable('identifier', identifier, MAX_IDENTIFIER_LENGTH);
  for (const context of contexts) assertStorable('authentication context', context, MAX_CONTEXT_LENGTH);
  const characters = contexts.join('').length;
  if (contexts.length > MAX_CONTEXTS || characters > MAX_CONTEXT_CHARACTERS) {
    const maximum = `the maximum is ${MAX_CONTEXTS} contexts with ${MAX_CONTEXT_CHARACTERS} characters in total`;
    throw refused(`sent ${contexts.length} authentication contexts with ${characters} characters; ${maximum}.`);
  }
  if (!isShallow(assertion.claims, MAX_CLAIM_DEPTH))
    throw refused(`sent claims that are nested more than ${MAX_CLAIM_DEPTH} levels deep.`);
  // NaN fails both comparisons. PostgreSQL returns a different value for a year before 1.
  const time = authenticatedAt?.getTime() ?? NaN;
  const isTime = time >= 0 && time < Date.now() + MAX_SKEW_MS;
  return {
    ...assertion,
    methods: methods.filter((method) => method.length <= MAX_METHOD_LENGTH && isStorable(method)),
    authenticatedAt: isTime ? authenticatedAt : null,
    logoutHint: (logoutHint?.length ?? 0) > MAX_LOGOUT_HINT ? null : logoutHint,
    sessionEnd: sessionEnd && new Date(Math.min(sessionEnd.getTime(), Date.now() + MAX_SESSION_MS)),
  };
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

function assertStorable(what: string, text: string, longest: number): void {
  if (text.length > longest)
    throw refused(`sent an ${what} with ${text.length} characters; the maximum is ${longest}.`);
  if (!isStorable(text)) throw refused(`sent an ${what} with a control character or an unpaired surrogate.`);
}

function refused(what: string): Problem {
  return new Problem('unauthenticated', 'sso.refused', `The identity provider ${what}`);
}
