import { fingerprintOf } from './public-key.js';

/** The namespace of the signatures (OpenSSH's PROTOCOL.sshsig) by which hosts prove that they have their key. */
export const RENEWAL_NAMESPACE = 'host-renewal@sealwright';

/**
 * What a host signs to have its certificate renewed: the SHA-256 of the certificate as SSH writes fingerprints, a space, and the time as
 * YYYY-MM-DDTHH:MM:SS.sssZ.
 */
export function renewalMessage(certificate: Buffer, signedAt: Date): string {
  return `${fingerprintOf(certificate)} ${signedAt.toISOString()}`;
}
