import type { TokenBinding } from '../../access/caller.js';

/** The binding that a client or trust requires for its tokens. */
export interface BindingDemand {
  readonly dpopBound: boolean;
  readonly certificateBound: boolean;
}

/** KeyNotShown is thrown if a required key was not proven. The message is printable ASCII without quotes; the code is an OAuth error code. */
export class KeyNotShown extends Error {
  constructor(
    message: string,
    readonly code: 'invalid_dpop_proof' | 'invalid_request' | 'invalid_grant',
  ) {
    super(message);
  }
}

/**
 * What a token is bound to: to the key of a DPoP proof wherever there is one, since nobody makes one by chance, and to a client certificate where
 * that is demanded (RFC 8705 section 3), since a client may show one for other reasons.
 *
 * @param shown the keys that the request shows
 * @throws KeyNotShown
 */
export function bindingFor({ dpopBound, certificateBound }: BindingDemand, shown: TokenBinding): TokenBinding {
  const { dpopKey, certificate } = shown;
  if (dpopBound && dpopKey === undefined) throw new KeyNotShown('A DPoP proof is required.', 'invalid_dpop_proof');
  if (certificateBound && certificate === undefined)
    throw new KeyNotShown('A client certificate is required.', 'invalid_request');
  return certificateBound ? shown : withoutCertificate(shown);
}

/**
 * Refuses a refresh with other keys than those that the session is bound to.
 *
 * @throws KeyNotShown
 */
export function assertSameKeys({ dpopKey, certificate }: TokenBinding, shown: TokenBinding): void {
  if (dpopKey !== undefined && shown.dpopKey === undefined)
    throw new KeyNotShown('The refresh token is bound to a key: send a DPoP proof.', 'invalid_dpop_proof');
  if (dpopKey !== undefined && dpopKey !== shown.dpopKey)
    throw new KeyNotShown('The refresh token is bound to another key than that of the DPoP proof.', 'invalid_grant');
  if (certificate !== undefined && certificate !== shown.certificate)
    throw new KeyNotShown('The refresh token is bound to another client certificate.', 'invalid_grant');
}

function withoutCertificate({ dpopKey }: TokenBinding): TokenBinding {
  return dpopKey === undefined ? {} : { dpopKey };
}
