import { X509Certificate } from 'node:crypto';
import { certificateFactsOf } from './certificate-facts.js';

/**
 * A certificate (DER, or one PEM block) all of whose parts can be read. OpenSSL reads most of them only when they are asked for, and a
 * date that it cannot read is neither past nor to come. Throws for what is none.
 */
export function wholeCertificate(encoded: Buffer | string): X509Certificate {
  const certificate = new X509Certificate(encoded);
  const dates = [certificate.validFrom, certificate.validTo];
  if (dates.some((date) => Number.isNaN(Date.parse(date)))) throw new RangeError('its dates cannot be read');
  certificate.publicKey.export({ type: 'spki', format: 'der' });
  certificateFactsOf(certificate);
  return certificate;
}
