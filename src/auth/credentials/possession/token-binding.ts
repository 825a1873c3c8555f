import type { TokenBinding } from '../../../access/caller.js';

/** The binding that a client or trust requires for its tokens. */
export interface BindingDemand {
  readonly dpopBound: boolean;
  readonly certificateBound: boolean;
}

/**
 * KeyNotShown is thrown if a request does not prove possession of a required key. The message is printable ASCII without quotes; the code is an OAuth error
 * code.
 */
export class KeyNotShown extends Error {
  constructor(
    message: string,
    readonly code: 'invalid_dpop_proof' | 'invalid_request' | 'invalid_grant',
  ) {
    super(message);
  }
}

/**
 * Returns the binding of a token. If the request contains a DPoP proof, the token is bound to the proof's key, because clients send a proof only for this
 * purpose. A token is bound to a client certificate only if required (RFC 8705 section 3), because a client may present a certificate for other reasons.
 *
 * @param shown the keys whose possession the request proves
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
 * Rejects a refresh request that does not prove possession of the keys to which the session is bound.
 *
 * @throws KeyNotShown
 */
export function assertSameKeys({ dpopKey, certificate }: TokenBinding, shown: TokenBinding): void {
  if (dpopKey !== undefined && shown.dpopKey === undefined)
    throw new KeyNotShown('The refresh token is bound to a key. Send a DPoP proof.', 'invalid_dpop_proof');
  if (dpopKey !== undefined && dpopKey !== shown.dpopKey)
    throw new KeyNotShown(
      'The refresh token is bound to a different key than the key in the DPoP proof.',
      'invalid_grant',
    );
  if (certificate !== undefined && certificate !== shown.certificate)
    throw new KeyNotShown('The refresh token is bound to a different client certificate.', 'invalid_grant');
}

function withoutCertificate({ dpopKey }: TokenBinding): TokenBinding {
  return dpopKey === undefined ? {} : { dpopKey };
}
