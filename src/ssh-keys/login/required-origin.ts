import type { EntityManager } from 'typeorm';
import type { Claims } from '../../access/identity/verified-identity.js';
import { IdentityProvider } from '../../auth/model/identity-provider.entity.js';
import { hasSeveralIssuers } from '../../auth/workload/workload.repository.js';
import type { LoginSubject } from '../certificate-authority/ssh-login-rule.entity.js';
import type { RequiredOrigin } from './login-principals.js';

/**
 * requiredOrigin returns the claims of which a rule must name at least one for this caller, if there are several issuers or providers: the issuer of
 * a workload, or the provider or ID of an identity provider's user.
 */
export async function requiredOrigin(
  tx: EntityManager,
  subject: LoginSubject,
  claims: Claims,
): Promise<RequiredOrigin> {
  if (subject === 'workload') return (await hasSeveralIssuers(tx)) ? ['iss', '/iss'] : undefined;
  if (claims['provider'] === undefined) return undefined;
  return (await tx.countBy(IdentityProvider, { enabled: true })) > 1 ? ['provider', 'sub'] : undefined;
}
