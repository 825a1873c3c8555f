import { X509Certificate } from 'node:crypto';
import type { ShownCertificate } from '../possession/client-certificate.js';
import {
  assertAuthority,
  assertEndEntity,
  assertInItsDates,
  CertificateRefused,
  strongCertificate,
} from './certificate-checks.js';
import type { CertificateRule, IssuedCertificates, OwnCertificates } from './certificate-rule.js';
import { hasSubject } from './certificate-subject.js';

/** Maximum number of certificates between a client and a trust anchor. */
const MAX_DEPTH = 6;
/**
 * Maximum number of signatures verified for one client. Otherwise, a client could send certificates each of which appears to have issued every other, and the
 * search would take factorial time.
 */
const MAX_SIGNATURES = 40;

export interface PathOrder {
  /** The certificate that the client presented. */
  readonly leaf: X509Certificate;
  /** Certificates of authorities that are trusted to issue client certificates. */
  readonly anchors: readonly X509Certificate[];
  /** Untrusted certificates that may connect the leaf to an anchor. */
  readonly intermediates: readonly X509Certificate[];
  readonly now: Date;
}

/**
 * Finds a certificate path from a client certificate to a trust anchor, and validates it (RFC 5280 section 6.1): signatures, validity periods,
 * authorities and their depth, key usages. Paths with restrictions that are not evaluated here (name constraints, policies, other critical
 * extensions) are rejected. Revocation is not checked.
 *
 * @returns the path, from the client's certificate to the anchor, including both
 * @throws CertificateRefused with the fault of the first path found, or if no path exists
 */
export function pathToAnchor(order: PathOrder): readonly X509Certificate[] {
  assertEndEntity(order.leaf, order.now);
  const path = new PathSearch(order).from([order.leaf]);
  if (path instanceof CertificateRefused) throw path;
  if (path === undefined)
    throw new CertificateRefused('The certificate does not chain to a trust anchor of the client.');
  return path;
}

class PathSearch {
  private signatures = 0;

  constructor(private readonly order: PathOrder) {}

  /** Returns a complete path that begins with `path`; undefined if no complete path exists, or a CertificateRefused error if the path is invalid. */
  from(path: readonly X509Certificate[]): readonly X509Certificate[] | CertificateRefused | undefined {
    let refused: CertificateRefused | undefined;
    for (const { issuer, isAnchor } of this.issuersOf(path)) {
      const found = this.through(path, issuer, isAnchor);
      if (found !== undefined && !(found instanceof CertificateRefused)) return found;
      refused ??= found;
    }
    return refused;
  }

  private through(path: readonly X509Certificate[], issuer: X509Certificate, isAnchor: boolean) {
    try {
      assertAuthority(issuer, path, { now: this.order.now, isAnchor });
    } catch (error) {
      if (error instanceof CertificateRefused) return error;
      throw error;
    }
    const longer = [...path, issuer];
    return isAnchor ? longer : this.from(longer);
  }

  /** Yields possible issuers, trust anchors first, to keep the path as short as possible. */
  private *issuersOf(path: readonly X509Certificate[]) {
    const { anchors, intermediates } = this.order;
    for (const issuer of anchors) if (this.hasIssued(issuer, path)) yield { issuer, isAnchor: true };
    if (path.length > MAX_DEPTH) return;
    for (const issuer of intermediates) if (this.hasIssued(issuer, path)) yield { issuer, isAnchor: false };
  }

  private hasIssued(issuer: X509Certificate, path: readonly X509Certificate[]): boolean {
    const last = path.at(-1);
    if (last === undefined || path.some(({ raw }) => raw.equals(issuer.raw))) return false;
    // Compare names and key identifiers before verifying the signature, which is expensive.
    if (!last.checkIssued(issuer)) return false;
    this.signatures += 1;
    if (this.signatures > MAX_SIGNATURES)
      throw new CertificateRefused(
        'The certificate path cannot be built: too many of the certificates sent are possible issuers.',
      );
    return last.verify(issuer.publicKey);
  }
}

/** Returns the path for which the rule accepts the client's certificate, starting with that certificate. @throws CertificateRefused */
export function acceptedPath(rule: CertificateRule, shown: ShownCertificate, now: Date): readonly X509Certificate[] {
  const leaf = strongCertificate(shown.raw);
  return 'subject' in rule ? issuedPath(rule, leaf, shown.chain, now) : ownPath(rule, leaf, shown.thumbprint, now);
}

function ownPath({ certificates }: OwnCertificates, leaf: X509Certificate, thumbprint: string, now: Date) {
  if (!certificates.some(({ sha256 }) => sha256 === thumbprint))
    throw new CertificateRefused('The certificate is not registered for the client.');
  assertInItsDates(leaf, now);
  return [leaf];
}

function issuedPath(rule: IssuedCertificates, leaf: X509Certificate, chain: readonly Buffer[], now: Date) {
  const anchors = rule.trustAnchors.map(({ pem }) => new X509Certificate(pem));
  const uploaded = rule.intermediates.map(({ pem }) => new X509Certificate(pem));
  const path = pathToAnchor({ leaf, anchors, intermediates: [...uploaded, ...chain.flatMap(strongOnly)], now });
  if (!hasSubject(leaf, rule.subject))
    throw new CertificateRefused('The subject of the certificate differs from the subject registered for the client.');
  return path;
}

/** Returns a list that contains the parsed certificate; the list is empty if the certificate is weak or malformed. */
function strongOnly(raw: Buffer): X509Certificate[] {
  try {
    return [strongCertificate(raw)];
  } catch {
    return [];
  }
}
