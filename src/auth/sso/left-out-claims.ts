import { Problem } from '../../platform/errors/problem.js';
import type { ClaimRule, Claims } from './claim-rules.js';

/** Where Microsoft Entra ID says in SAML that the groups are elsewhere, and the attribute that it leaves out then. */
const LINK = 'http://schemas.microsoft.com/claims/groups.link';
const GROUPS = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups';

/**
 * A person in very many groups comes without them: the provider says that the claim is elsewhere (`_claim_names`, OpenID Connect core
 * section 5.6.2; `hasgroups` and the link of SAML of Microsoft Entra ID). No rule about such a claim can be applied then.
 *
 * @throws Problem `sso.claims-left-out`.
 */
export function assertNothingLeftOut(claims: Claims, rules: readonly ClaimRule[]): void {
  const missing = leftOut(claims);
  const needed = rules.find(({ claim }) => claims[claim] === undefined && missing.includes(claim));
  if (needed === undefined) return;
  const detail = `The identity provider left "${needed.claim}" out, since there are too many; have it send fewer, for example only those that are assigned to the application.`;
  throw new Problem('forbidden', 'sso.claims-left-out', detail);
}

function leftOut(claims: Claims): string[] {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const named = typeof elsewhere === 'object' && elsewhere !== null ? Object.keys(elsewhere) : [];
  const hasMore = hasgroups === true || hasgroups === 'true';
  return [...named, ...(hasMore ? ['groups'] : []), ...(claims[LINK] === undefined ? [] : [GROUPS])];
}
