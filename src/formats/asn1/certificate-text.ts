import { X509Certificate } from 'node:crypto';
import { fromBase64 } from '../encoding/base64.js';

/** RFC 7468 section 5.1; the second label is an older name. */
const BLOCK = /^-----BEGIN (CERTIFICATE|X509 CERTIFICATE)-----([^-]*)-----END \1-----\s*/;
const ADVICE =
  'send the output of openssl x509 -in FILE, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----';

/**
 * Reads the certificates in a text that a person pastes: blocks of PEM, or the bare base64 of one, with any line ends. Nothing may stand around
 * them.
 *
 * @throws Error that says what is wrong with the text, without quoting it: it may be a private key.
 */
export function readCertificates(text: string): X509Certificate[] {
  const whole = text.trim();
  if (whole.includes('PRIVATE KEY'))
    throw new Error('this is a private key; only the certificate is needed, and the key has been shown');
  if (!whole.includes('-----')) return [certificateIn(whole)];
  const found: X509Certificate[] = [];
  for (let rest = whole; rest !== '';) {
    const block = BLOCK.exec(rest);
    if (block === null) throw new Error(whatIsAround(rest));
    found.push(certificateIn(block[2] ?? ''));
    rest = rest.slice(block[0].length);
  }
  return found;
}

function certificateIn(body: string): X509Certificate {
  const lines = body.split(/\r\n|\r|\n/).map((line) => line.trimEnd());
  if (lines.some((line) => /^\s/.test(line))) throw new Error(`its lines are indented; ${ADVICE}`);
  const der = fromBase64(lines.join(''));
  if (der === undefined || der.length === 0)
    throw new Error('this is not a certificate: neither PEM nor base64 of one');
  return exactCertificate(der);
}

/** The certificate that these bytes are, and nothing behind it, which OpenSSL would not mind. @throws Error */
export function exactCertificate(der: Buffer): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(der);
  } catch {
    throw new Error('this is not an X.509 certificate');
  }
  if (!certificate.raw.equals(der)) throw new Error('there are bytes after the certificate');
  return certificate;
}

function whatIsAround(text: string): string {
  const begin = text.indexOf('-----BEGIN ');
  if (begin > 0) return `there is text around the certificate; ${ADVICE}`;
  return begin === 0
    ? `this is not a complete PEM block with a certificate; ${ADVICE}`
    : `there is text after the certificate; ${ADVICE}`;
}
