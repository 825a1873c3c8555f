import { Problem } from '../../platform/errors/problem.js';
import { hasOurKey, type OidcSettings, type SamlSettings } from './identity-provider.entity.js';

/** Refuses a client secret that the chosen way of authentication has no use for. */
export function assertSecretFits({ clientAuthentication }: OidcSettings, given: string | undefined): void {
  if (given === undefined) return;
  if (clientAuthentication !== 'none' && clientAuthentication !== 'private_key_jwt') return;
  throw refused(`${clientAuthentication} has no use for a client secret; leave it out`);
}

/** Refuses a way of authentication whose secret nobody has given. */
export function assertSecretThere({ clientAuthentication }: OidcSettings, isThere: boolean): void {
  if (isThere || clientAuthentication == null || clientAuthentication === 'none') return;
  throw refused(`${clientAuthentication} needs a client secret`);
}

/** Whether the secret that is stored is of use with the new settings: a private key of ours never becomes a client secret. */
export function keepsSecret(before: OidcSettings | SamlSettings, now: OidcSettings | SamlSettings): boolean {
  const isPublic = 'issuer' in now && now.clientAuthentication === 'none';
  return !isPublic && hasOurKey(before) === hasOurKey(now);
}

function refused(detail: string): Problem {
  return new Problem('refused', 'identity-provider.client-secret', `/clientSecret: ${detail}.`, {
    errors: [{ pointer: '/clientSecret', detail }],
  });
}
