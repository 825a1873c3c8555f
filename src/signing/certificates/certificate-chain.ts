import { X509Certificate } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import {
  certificateFactsOf,
  type CertificateFacts,
  wholeCertificate,
} from '../../auth/credentials/certificates/certificate-facts.js';
import type { KeyPurpose } from '../keys/signing-key.entity.js';

export const MAX_CHAIN_CERTIFICATES = 8;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates in a PEM string, in any order. Throws Problem `certificate.unreadable`. */
export function readCertificateChain(pem: string): X509Certificate[] {
  const blocks = pem.match(PEM) ?? [];
  if (blocks.length === 0)
    throw refusedCertificate('certificate.unreadable', 'it contains no PEM block of type CERTIFICATE');
  if (blocks.length > MAX_CHAIN_CERTIFICATES)
    throw refusedCertificate('certificate.unreadable', `it contains more than ${MAX_CHAIN_CERTIFICATES} certificates`);
  return blocks.map((block, index) => {
    try {
      return wholeCertificate(block);
    } catch (cause) {
      throw refusedCertificate(
        'certificate.unreadable',
        `certificate ${index + 1} is not a valid X.509 certificate (RFC 5280)`,
        cause,
      );
    }
  });
}

/**
 * Orders the certificates into a path that starts at `leaf` (RFC 5280 section 6.1, without trust anchors, which verifiers choose). Every signature must verify.
 * Every issuer certificate must be a currently valid CA certificate whose path length constraint allows the certificates below it.
 *
 * @throws Problem `certificate.incomplete`, `.stray`, `.path`, `.expired`, `.not-yet-valid`
 */
export function pathFrom(leaf: X509Certificate, others: readonly X509Certificate[], now: Date): X509Certificate[] {
  const path = [leaf];
  const rest = new Set(others);
  for (let last = leaf; !isSelfSigned(last);) {
    const issuer = [...rest].find((candidate) => isIssuedBy(last, candidate));
    if (issuer === undefined) break;
    assertAuthority(issuer, path.length - 1);
    path.push(issuer);
    rest.delete(issuer);
    last = issuer;
  }
  if (path.length === 1 && !isSelfSigned(leaf))
    throw refusedCertificate(
      'certificate.incomplete',
      `the issuer certificate is missing: ${subjectNameOf(leaf.issuer)}`,
    );
  const [stray] = rest;
  if (stray !== undefined)
    throw refusedCertificate(
      'certificate.stray',
      `it contains an unrelated certificate: ${subjectNameOf(stray.subject)}`,
    );
  for (const certificate of path) assertInDate(certificate, now);
  return path;
}

/** Returns the only certificate that did not issue any of the other certificates. */
export function leafCertificateOf(certificates: readonly X509Certificate[]): X509Certificate {
  const leaves = certificates.filter(
    (candidate) => !certificates.some((other) => other !== candidate && isIssuedBy(other, candidate)),
  );
  const [leaf] = leaves;
  if (leaf === undefined || leaves.length > 1)
    throw refusedCertificate(
      'certificate.stray',
      'the certificates do not form a single path from a leaf certificate to its issuers',
    );
  return leaf;
}

/** Reports whether a certificate is signed with its own key. The certificate does not have to be a CA certificate, because it certifies only its own key. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.subject === certificate.issuer && certificate.verify(certificate.publicKey);
}

/** Returns a distinguished name on one line. Node returns undefined for an empty name. */
export function subjectNameOf(name: string | undefined): string {
  return (name ?? '').split('\n').reverse().join(', ');
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function assertAuthority(issuer: X509Certificate, authoritiesBelow: number): void {
  const { isAuthority, keyUsage, pathLength } = certificateFactsOf(issuer);
  if (!isAuthority || keyUsage?.signsCertificates === false)
    throw refusedCertificate('certificate.path', `an issuer is not a CA certificate: ${subjectNameOf(issuer.subject)}`);
  if (pathLength !== undefined && authoritiesBelow > pathLength)
    throw refusedCertificate(
      'certificate.path',
      `the path length limit of an issuer is exceeded: ${subjectNameOf(issuer.subject)}`,
    );
}

function assertInDate(certificate: X509Certificate, now: Date): void {
  if (new Date(certificate.validTo) <= now)
    throw refusedCertificate(
      'certificate.expired',
      `a certificate in the chain expired at ${new Date(certificate.validTo).toISOString()}: ${subjectNameOf(certificate.subject)}`,
    );
  if (new Date(certificate.validFrom) > now)
    throw refusedCertificate(
      'certificate.not-yet-valid',
      `a certificate in the chain is not valid before ${new Date(certificate.validFrom).toISOString()}: ${subjectNameOf(certificate.subject)}`,
    );
}

export function refusedCertificate(code: string, detail: string, cause?: unknown): Problem {
  const errors = [{ pointer: '/chain', detail }];
  return new Problem('refused', code, `The certificate was rejected: ${detail}.`, { errors, cause });
}

const DOCUMENTS = ['email-protection', 'document-signing', 'any'];

/**
 * Rejects a certificate that does not allow the purpose of its key, because verifiers would reject the signatures.
 *
 * @throws Problem `certificate.purpose`
 */
export function assertFits(purpose: KeyPurpose, facts: CertificateFacts): void {
  const fault = FAULTS[purpose](facts);
  if (fault !== undefined) throw refusedCertificate('certificate.purpose', fault);
}

type Check = (facts: CertificateFacts) => string | undefined;

/** Requires digitalSignature and, if the certificate restricts its extended usage, one of `usages`. */
function signatures(usages?: readonly string[]): Check {
  return ({ keyUsage, purposes }) => {
    if (keyUsage?.signs === false) return 'its key usage does not include digitalSignature';
    if (usages !== undefined && purposes.length > 0 && !purposes.some((purpose) => usages.includes(purpose)))
      return `its extended key usage allows ${purposes.join(', ')}, not ${usages.join(', ')}`;
    return undefined;
  };
}

const FAULTS: Record<KeyPurpose, Check> = {
  signing: signatures(['code-signing', ...DOCUMENTS]),
  'code-signing': signatures(['code-signing', 'any']),
  documents: signatures(DOCUMENTS),
  'tls-client': signatures(['client-auth', 'any']),
  openpgp: signatures(),
  'ssh-login': signatures(),
  'ssh-signatures': signatures(),
  /** RFC 3161 section 2.3: the extended key usage must be critical and contain exactly one purpose. Verifiers reject a certificate with further purposes. */
  timestamping({ keyUsage, purposes, purposesCritical, isAuthority }) {
    if (purposes.length !== 1 || purposes[0] !== 'time-stamping' || !purposesCritical)
      return 'its extended key usage must be critical and contain only timeStamping';
    if (isAuthority || keyUsage?.signs === false || keyUsage?.other === true)
      return 'its key usage must contain only digitalSignature or nonRepudiation';
    return undefined;
  },
  certificates({ keyUsage, isAuthority }) {
    return isAuthority && keyUsage?.signsCertificates !== false
      ? undefined
      : 'it must be a CA certificate (cA, keyCertSign)';
  },
};

/**
 * assertNotExpired rejects a certificate that expired after the request was accepted. Approval can take days, but the signature would claim the time of the
 * request as its signing time, when the certificate was still valid.
 *
 * @throws Problem `certificate.expired`
 */
export function assertNotExpired([der]: readonly Buffer[], now = new Date()): void {
  const end = der === undefined ? undefined : new X509Certificate(der).validToDate;
  if (end === undefined || end > now) return;
  const detail = `The key's certificate expired at ${end.toISOString()}, before the request was signed.`;
  throw new Problem('conflict', 'certificate.expired', detail);
}
