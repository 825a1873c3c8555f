import type { Claims } from '../../../access/identity/verified-identity.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';

/** A verified assertion of a provider about a person. */
export interface Assertion {
  readonly transactionId: string;
  readonly provider: IdentityProvider;
  /** The provider's permanent identifier of the person. */
  readonly subject: string;
  readonly claims: Claims;
  readonly methods: string[];
  /** Authentication contexts: `acr` of OIDC, every AuthnContextClassRef of SAML. */
  readonly contexts: readonly string[];
  readonly externalSession: string | null;
  /** Hint for a logout at the provider: the ID token of OIDC as it was received, the NameID of SAML as JSON. */
  readonly logoutHint: string | null;
  /** When the person authenticated at the provider; null if it does not say. */
  readonly authenticatedAt: Date | null;
}

/** Both are indexed. OpenID Connect core section 2 allows 255 characters for a subject, SAML core section 8.3.7 256 for a persistent NameID. */
const MAX_IDENTIFIER_LENGTH = 500;

/** @throws Problem for identifiers that cannot be stored */
export function boundedAssertion(assertion: Assertion): Assertion {
  const { subject, externalSession } = assertion;
  const longest = Math.max(subject.length, externalSession?.length ?? 0);
  if (longest <= MAX_IDENTIFIER_LENGTH) return assertion;
  const detail = `The identity provider sent an identifier of ${longest} characters; ${MAX_IDENTIFIER_LENGTH} is the maximum.`;
  throw new Problem('unauthenticated', 'sso.refused', detail);
}
