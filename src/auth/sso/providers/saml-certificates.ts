import type { KeyObject, X509Certificate } from 'node:crypto';
import { Problem } from '../../../platform/errors/problem.js';
import { readCertificates } from '../../../formats/asn1/certificate-text.js';
import { writePem } from '../../../formats/encoding/base64.js';

/** Maximum number of certificates of one provider. */
const MAX_CERTIFICATES = 10;

/** A certificate that sign-in can use. */
export interface UsableCertificate {
  /** PEM in canonical form (RFC 7468). */
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/**
 * Reads the certificates in a string: PEM blocks, or the bare base64 of one certificate, with any line endings. All certificates of SAML providers
 * are read with this function: for storage, for the test of a provider, and for sign-in and sign-out.
 *
 * @throws Error that describes the fault without quoting the string, which may be a private key
 */
export function readSamlCertificates(text: string): UsableCertificate[] {
  return readCertificates(text).map((certificate) => {
    assertVerifies(certificate.publicKey);
    return { pem: writePem('CERTIFICATE', certificate.raw), certificate };
  });
}

/**
 * Reads the certificates in all strings of a list, in PEM and without duplicates, as they are stored.
 *
 * @throws Problem `identity-provider.certificate` that points to the string.
 */
export function storedCertificates(texts: readonly string[]): string[] {
  const found = texts.flatMap((text, index) => {
    try {
      return readSamlCertificates(text).map((certificate) => certificate.pem);
    } catch (error) {
      throw refused(`/certificates/${index}`, error instanceof Error ? error.message : 'unknown');
    }
  });
  const stored = [...new Set(found)];
  if (stored.length > MAX_CERTIFICATES)
    throw refused('/certificates', `must not contain more than ${MAX_CERTIFICATES} certificates`);
  return stored;
}

/** Returns the certificates for verification, in PEM. Unreadable certificates are omitted, because another certificate may verify the signature. */
export function usableCertificates(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    try {
      return readSamlCertificates(text).map((certificate) => certificate.pem);
    } catch {
      return [];
    }
  });
}

/** Rejects keys other than RSA and ECDSA keys, because XML signatures with other keys are not accepted (saml-document.ts). */
function assertVerifies({ asymmetricKeyType: type }: KeyObject): void {
  if (type !== 'rsa' && type !== 'ec')
    throw new Error(`a key of type ${type} cannot sign SAML assertions; use RSA or ECDSA`);
}

function refused(pointer: string, detail: string): Problem {
  return new Problem('refused', 'identity-provider.certificate', `${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
