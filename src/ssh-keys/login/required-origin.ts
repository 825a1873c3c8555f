import type { EntityManager } from 'typeorm';
import type { Claims } from '../../access/identity/verified-identity.js';
import { IdentityProvider } from '../../auth/model/identity-provider.entity.js';
import { hasSeveralIssuers } from '../../auth/workload/workload.repository.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { LoginSubject } from '../certificate-authority/ssh-login-rule.entity.js';
import type { RequiredOrigin } from './login-principals.js';

/**
 * requiredOrigin returns claims that identify the issuer or provider of a caller's claims. A rule must have a condition on at least one of these claims. For a
 * workload, these are the names of the issuer claim. For a user of an identity provider, these are the provider and the user ID. Returns undefined if no other
 * issuer or provider could assert the claims.
 */
export async function requiredOrigin(
  tx: EntityManager,
  subject: LoginSubject,
  claims: Claims,
): Promise<RequiredOrigin> {
  if (subject === 'workload') return (await hasSeveralIssuers(tx)) ? ['iss', '/iss'] : undefined;
  if (claims['provider'] === undefined) return undefined;
  const enabled = await tx.find(IdentityProvider, { select: { id: true }, where: { enabled: true } });
  const ids = enabled.map(({ id }) => id);
  return (await sealsOf(tx).areSeveral('identity-provider', ids)) ? ['provider', 'sub'] : undefined;
}
