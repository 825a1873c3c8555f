import type { Config } from '../../platform/config/config.js';

export interface SamlAddresses {
  readonly entityId: string;
  /** Assertion consumer service. */
  readonly acsUrl: string;
  /** Single logout service. */
  readonly logoutUrl: string;
}

/** What we are called and where we are found, the same for every provider. */
export function ourSamlAddresses({ publicUrl }: Config): SamlAddresses {
  const at = (name: string): string => `${publicUrl}/api/auth/saml/${name}`;
  return { entityId: at('metadata'), acsUrl: at('callback'), logoutUrl: at('logout') };
}
