import { X509Certificate } from 'node:crypto';
import { fromBase64 } from '../encoding/base64.js';

/** A certificate block (RFC 7468 section 5.1). X509 CERTIFICATE is an obsolete label. */
const BLOCK = /^-----BEGIN (CERTIFICATE|X509 CERTIFICATE)-----([^-]*)-----END \1-----\s*/;
const ADVICE =
  'send the output of openssl x509 -in FILE, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----';

/**
 * Reads the certificates in pasted text: PEM blocks, or the bare base64 of one certificate, with any line endings. No other text is allowed.
 *
 * @throws Error that explains the fault without quoting the text, which may be a private key
 */
export function readCertificates(text: string): X509Certificate[] {
  const whole = text.trim();
  if (whole.includes('PRIVATE KEY'))
    throw new Error(
      'this is a private key, which must now be considered compromised: generate a new key pair and send only its certificate',
    );
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
  if (lines.some((line) => /^\s/.test(line))) throw new Error(`the lines are indented; ${ADVICE}`);
  const der = fromBase64(lines.join(''));
  if (der === undefined || der.length === 0) throw new Error('this is not a PEM or base64 certificate');
  return exactCertificate(der);
}

/**
 * Returns the certificate in these bytes. Trailing bytes, which OpenSSL would ignore, are rejected.
 *
 * @throws Error if the bytes are not exactly one certificate
 */
export function exactCertificate(der: Buffer): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(der);
  } catch {
    throw new Error('this is not an X.509 certificate');
  }
  if (!certificate.raw.equals(der)) throw new Error('there are extra bytes after the certificate');
  return certificate;
}

function whatIsAround(text: string): string {
  const begin = text.indexOf('-----BEGIN ');
  if (begin > 0) return `there is text around the certificate; ${ADVICE}`;
  return begin === 0
    ? `this is not a complete PEM certificate block; ${ADVICE}`
    : `there is text after the certificate; ${ADVICE}`;
}
