import type { KeyPurpose } from '../keys/signing-key-purpose.js';
import { refusedCertificate } from './certificate-chain.js';
import type { CertificateFacts } from './certificate-facts.js';

const SIGNING = ['code-signing', 'email-protection', 'document-signing', 'any'];

/** What a certificate must allow for the key to be of use to anyone who verifies. Problem `certificate.purpose`. */
export function assertFits(purpose: KeyPurpose, facts: CertificateFacts): void {
  const fault = FAULTS[purpose](facts);
  if (fault !== undefined) throw refusedCertificate('certificate.purpose', fault);
}

const FAULTS: Record<KeyPurpose, (facts: CertificateFacts) => string | undefined> = {
  signing({ keyUsage, purposes }) {
    if (keyUsage?.signs === false) return 'its key usage does not include digitalSignature';
    if (purposes.length > 0 && !purposes.some((purpose) => SIGNING.includes(purpose)))
      return `its extended key usage allows ${purposes.join(', ')}, none of ${SIGNING.join(', ')}`;
    return undefined;
  },
  /** RFC 3161 section 2.3: one purpose, critical; verifiers refuse a key that may do anything but sign. */
  timestamping({ keyUsage, purposes, purposesCritical, isAuthority }) {
    if (purposes.length !== 1 || purposes[0] !== 'time-stamping' || !purposesCritical)
      return 'its extended key usage must be timeStamping, alone and critical';
    if (isAuthority || keyUsage?.signs === false || keyUsage?.other === true)
      return 'its key usage must be digitalSignature or nonRepudiation and nothing else';
    return undefined;
  },
  certificates({ keyUsage, isAuthority }) {
    return isAuthority && keyUsage?.signsCertificates !== false
      ? undefined
      : 'it must be the certificate of an authority (cA, keyCertSign)';
  },
};
