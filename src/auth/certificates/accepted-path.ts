import { X509Certificate } from 'node:crypto';
import type { ShownCertificate } from '../possession/client-certificate.js';
import { assertInItsDates, CertificateRefused, strongCertificate } from './certificate-checks.js';
import { pathToAnchor } from './certificate-path.js';
import type { CertificateRule, IssuedCertificates, OwnCertificates } from './certificate-rule.js';
import { hasSubject } from './certificate-subject.js';

/** The certificates on which the acceptance of the client's certificate rests, that one first. @throws CertificateRefused */
export function acceptedPath(rule: CertificateRule, shown: ShownCertificate, now: Date): readonly X509Certificate[] {
  const leaf = strongCertificate(shown.raw);
  return 'subject' in rule ? issuedPath(rule, leaf, shown.chain, now) : ownPath(rule, leaf, shown.thumbprint, now);
}

function ownPath({ certificates }: OwnCertificates, leaf: X509Certificate, thumbprint: string, now: Date) {
  if (!certificates.some(({ sha256 }) => sha256 === thumbprint))
    throw new CertificateRefused('The certificate is none of those that are registered for the client.');
  assertInItsDates(leaf, now);
  return [leaf];
}

function issuedPath(rule: IssuedCertificates, leaf: X509Certificate, chain: readonly Buffer[], now: Date) {
  const anchors = rule.trustAnchors.map(({ pem }) => new X509Certificate(pem));
  const uploaded = rule.intermediates.map(({ pem }) => new X509Certificate(pem));
  const path = pathToAnchor({ leaf, anchors, intermediates: [...uploaded, ...chain.flatMap(strongOnly)], now });
  if (!hasSubject(leaf, rule.subject))
    throw new CertificateRefused('The certificate does not have the subject that is registered for the client.');
  return path;
}

/** A client that sends a weak or broken certificate beside its own gets no path by it. */
function strongOnly(raw: Buffer): X509Certificate[] {
  try {
    return [strongCertificate(raw)];
  } catch {
    return [];
  }
}
