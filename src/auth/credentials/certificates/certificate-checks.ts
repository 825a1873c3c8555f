import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate as ParsedCertificate,
} from '@peculiar/x509';
import type { X509Certificate } from 'node:crypto';
import { EXTENDED_KEY_USAGES, wholeCertificate } from './certificate-facts.js';

/**
 * CertificateRefused is thrown for a certificate that is not accepted for client authentication. The message contains the reason, in printable ASCII without
 * quotes (RFC 6749 section 5.2).
 */
export class CertificateRefused extends Error {}

const MIN_RSA_BITS = 2048;
const NAME_CONSTRAINTS = '2.5.29.30';
/** Extensions that are evaluated: key usage, subject alternative name, basic constraints, extended key usage (RFC 5280 section 4.2.1). */
const JUDGED = new Set(['2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.37']);
const DIGESTS = new Set(['SHA-256', 'SHA-384', 'SHA-512']);
/** Algorithms with a built-in digest. */
const WITHOUT_DIGEST = new Set(['Ed25519', 'Ed448']);

/** Parses a certificate, and rejects a certificate that is malformed or whose key is too weak. @throws CertificateRefused */
export function strongCertificate(raw: Buffer): X509Certificate {
  const certificate = readable(raw);
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
  const bits = asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS;
  if (bits < MIN_RSA_BITS || asymmetricKeyType === 'dsa')
    throw new CertificateRefused(
      `The key of the certificate is too weak: RSA keys must have at least ${MIN_RSA_BITS} bits.`,
    );
  return certificate;
}

function readable(raw: Buffer): X509Certificate {
  try {
    return wholeCertificate(raw);
  } catch {
    throw new CertificateRefused('The certificate cannot be parsed.');
  }
}

/** @throws CertificateRefused if `now` is outside the certificate's validity period, which includes both bounds (RFC 5280 section 4.1.2.5) */
export function assertInItsDates({ validFrom, validTo }: X509Certificate, now: Date, which = 'The certificate'): void {
  // OpenSSL's times have a resolution of one second.
  if (now.getTime() < Date.parse(validFrom)) throw new CertificateRefused(`${which} is not valid yet.`);
  if (now.getTime() >= Date.parse(validTo) + 1000) throw new CertificateRefused(`${which} has expired.`);
}

/** Rejects a certificate that is not a TLS client certificate. @throws CertificateRefused */
export function assertEndEntity(certificate: X509Certificate, now: Date): void {
  const which = 'The certificate';
  assertInItsDates(certificate, now, which);
  const parsed = new ParsedCertificate(certificate.raw);
  assertUnderstood(parsed, which);
  assertStrongSignature(parsed, which);
  const usage = parsed.getExtension(KeyUsagesExtension)?.usages;
  if (usage !== undefined && (usage & KeyUsageFlags.digitalSignature) === 0)
    throw new CertificateRefused('The key usage of the certificate does not include digitalSignature.');
  const purposes = purposesOf(parsed);
  if (purposes !== undefined && !purposes.includes(EXTENDED_KEY_USAGES['client-auth']))
    throw new CertificateRefused('The extended key usage of the certificate does not include clientAuth.');
}

/**
 * Rejects an issuer that is not allowed to issue the certificates in the path.
 *
 * @param path the certificates below the issuer, starting with the client's certificate
 * @throws CertificateRefused
 */
export function assertAuthority(
  issuer: X509Certificate,
  path: readonly X509Certificate[],
  { now, isAnchor }: { readonly now: Date; readonly isAnchor: boolean },
): void {
  const which = isAnchor ? 'The trust anchor' : 'An intermediate certificate';
  assertInItsDates(issuer, now, which);
  const parsed = new ParsedCertificate(issuer.raw);
  assertUnderstood(parsed, which);
  // The signature of an anchor is irrelevant, because the anchor itself is trusted.
  if (!isAnchor) assertStrongSignature(parsed, which);
  assertMayIssue(parsed, which);
  const { pathLength } = parsed.getExtension(BasicConstraintsExtension) ?? {};
  // Self-issued certificates, such as key rollover certificates, do not count (RFC 5280 section 4.2.1.9).
  const authorities = path.slice(1).filter(({ subject, issuer: by }) => subject !== by).length;
  if (pathLength !== undefined && authorities > pathLength)
    throw new CertificateRefused(
      `${which} allows fewer subordinate authorities than the path contains (pathLenConstraint).`,
    );
}

/** Rejects a certificate that cannot be a trust anchor or an intermediate certificate, regardless of its use. @throws CertificateRefused */
export function assertIsAuthority({ raw }: X509Certificate): void {
  const parsed = new ParsedCertificate(raw);
  assertUnderstood(parsed, 'The certificate');
  assertMayIssue(parsed, 'The certificate');
}

function assertMayIssue(parsed: ParsedCertificate, which: string): void {
  if (parsed.getExtension(BasicConstraintsExtension)?.ca !== true)
    throw new CertificateRefused(`${which} is not a CA certificate (basic constraints).`);
  const usage = parsed.getExtension(KeyUsagesExtension)?.usages;
  if (usage !== undefined && (usage & KeyUsageFlags.keyCertSign) === 0)
    throw new CertificateRefused(`The key usage of a CA certificate must include keyCertSign.`);
  const purposes = purposesOf(parsed);
  if (purposes?.some((one) => one === EXTENDED_KEY_USAGES['client-auth'] || one === EXTENDED_KEY_USAGES.any) === false)
    throw new CertificateRefused(
      `${which} cannot issue client certificates, because its extended key usage excludes clientAuth.`,
    );
}

function purposesOf(parsed: ParsedCertificate): string[] | undefined {
  return parsed.getExtension(ExtendedKeyUsageExtension)?.usages.map(String);
}

/** Rejects critical extensions and name constraints that are not evaluated here, and duplicate extensions (RFC 5280 section 4.2). */
function assertUnderstood({ extensions }: ParsedCertificate, which: string): void {
  const types = extensions.map(({ type }) => type);
  if (new Set(types).size < types.length) throw new CertificateRefused(`${which} contains a duplicate extension.`);
  if (types.includes(NAME_CONSTRAINTS))
    throw new CertificateRefused(`${which} has name constraints, which are not supported.`);
  const unknown = extensions.find(({ type, critical }) => critical && !JUDGED.has(type));
  if (unknown !== undefined)
    throw new CertificateRefused(`${which} has the critical extension ${unknown.type}, which is not supported.`);
}

/** Rejects digest algorithms with known collisions, with which an attacker can forge a second certificate with the same signature. */
function assertStrongSignature({ signatureAlgorithm }: ParsedCertificate, which: string): void {
  const { name, hash } = signatureAlgorithm as { name: string; hash?: { name: string } };
  const isStrong = hash === undefined ? WITHOUT_DIGEST.has(name) : DIGESTS.has(hash.name);
  if (!isStrong) throw new CertificateRefused(`${which} is signed with SHA-1 or an unsupported algorithm.`);
}
