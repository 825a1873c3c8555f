import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as ParsedCertificate,
} from '@peculiar/x509';
import { X509Certificate } from 'node:crypto';
import { affordable } from '../../../formats/asn1/key-cost.js';

/** Extended key usages known to the service, with their object identifiers (RFC 5280 section 4.2.1.12, RFC 9336). */
export const EXTENDED_KEY_USAGES = {
  'server-auth': '1.3.6.1.5.5.7.3.1',
  'client-auth': '1.3.6.1.5.5.7.3.2',
  'code-signing': '1.3.6.1.5.5.7.3.3',
  'email-protection': '1.3.6.1.5.5.7.3.4',
  'time-stamping': '1.3.6.1.5.5.7.3.8',
  'document-signing': '1.3.6.1.5.5.7.3.36',
  any: '2.5.29.37.0',
} as const;

/** CertificateFacts contains the values of the extensions that restrict the use of a certificate's key. */
export interface CertificateFacts {
  /** Names of known extended key usages, and object identifiers of unknown usages; empty if the certificate does not have the extension. */
  readonly purposes: string[];
  readonly purposesCritical: boolean;
  readonly isAuthority: boolean;
  /** Maximum number of intermediate authorities below this certificate (pathLenConstraint); undefined for no limit. */
  readonly pathLength: number | undefined;
  /** Allowed key usages; undefined if the certificate does not have the extension, in which case every use is allowed. */
  readonly keyUsage:
    { readonly signs: boolean; readonly signsCertificates: boolean; readonly other: boolean } | undefined;
}

/**
 * certificateFactsOf reads the extensions of a certificate.
 * @throws Error if an extension cannot be parsed
 */
export function certificateFactsOf(certificate: X509Certificate): CertificateFacts {
  const parsed = new ParsedCertificate(certificate.raw);
  const usage = parsed.getExtension(ExtendedKeyUsageExtension);
  const constraints = parsed.getExtension(BasicConstraintsExtension);
  return {
    purposes: (usage?.usages ?? []).map((id) => purposeName(String(id))),
    purposesCritical: usage?.critical ?? false,
    isAuthority: constraints?.ca ?? false,
    pathLength: constraints?.pathLength,
    keyUsage: keyUsageOf(parsed.getExtension(KeyUsagesExtension)?.usages),
  };
}

function keyUsageOf(flags: KeyUsageFlags | undefined): CertificateFacts['keyUsage'] {
  if (flags === undefined) return undefined;
  const signing = KeyUsageFlags.digitalSignature | KeyUsageFlags.nonRepudiation;
  return {
    signs: (flags & signing) !== 0,
    signsCertificates: (flags & KeyUsageFlags.keyCertSign) !== 0,
    other: (flags & ~signing) !== 0,
  };
}

function purposeName(id: string): string {
  const known = Object.entries(EXTENDED_KEY_USAGES).find(([, value]) => value === id);
  return known?.[0] ?? id;
}

/**
 * wholeCertificate parses a certificate (DER or one PEM block) and validates all its parts, because OpenSSL parses most parts lazily and a malformed date
 * compares as neither past nor future. Throws if a part is malformed, or if verification with the public key is too expensive.
 */
export function wholeCertificate(encoded: Buffer | string): X509Certificate {
  const certificate = new X509Certificate(encoded);
  const dates = [certificate.validFrom, certificate.validTo];
  if (dates.some((date) => Number.isNaN(Date.parse(date))))
    throw new RangeError('the validity period cannot be parsed');
  affordable(certificate.publicKey).export({ type: 'spki', format: 'der' });
  certificateFactsOf(certificate);
  return certificate;
}
