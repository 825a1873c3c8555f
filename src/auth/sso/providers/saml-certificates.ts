import { type KeyObject, X509Certificate } from 'node:crypto';
import { Problem } from '../../../platform/errors/problem.js';
import { writePem, fromBase64 } from '../../../formats/encoding/base64.js';

/** Maximum certificates of one provider. */
const MAX_CERTIFICATES = 10;
/** RFC 7468 section 5.1; the second label is an older name. */
const BLOCK = /^-----BEGIN (CERTIFICATE|X509 CERTIFICATE)-----([^-]*)-----END \1-----\s*/;
const ADVICE = 'send what openssl x509 -in FILE prints, from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----';

/** A certificate that sign-in can use. */
export interface UsableCertificate {
  /** RFC 7468, canonical. */
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/**
 * Reads the certificates in a text: blocks of PEM, or the bare base64 of one, with any line ends. The only reader of certificates of SAML
 * providers: for what is stored, for the test of a provider, and for sign-in and sign-out.
 *
 * @throws Error that says what is wrong with the text, without quoting it: it may be a private key.
 */
export function readSamlCertificates(text: string): UsableCertificate[] {
  const whole = text.trim();
  if (whole.includes('PRIVATE KEY'))
    throw new Error('this is a private key; only the certificate is needed, and the key has been shown');
  if (!whole.includes('-----')) return [usable(whole)];
  const found: UsableCertificate[] = [];
  for (let rest = whole; rest !== '';) {
    const block = BLOCK.exec(rest);
    if (block === null) throw new Error(whatIsAround(rest));
    found.push(usable(block[2] ?? ''));
    rest = rest.slice(block[0].length);
  }
  return found;
}

/**
 * Reads every text of a list; each certificate once, in PEM, as they are stored.
 *
 * @throws Problem `identity-provider.certificate` that points to the text.
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
  if (stored.length > MAX_CERTIFICATES) throw refused('/certificates', `there are more than ${MAX_CERTIFICATES}`);
  return stored;
}

/** Certificates for verification, in PEM. One that cannot be read is omitted: another one may verify. */
export function usableCertificates(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    try {
      return readSamlCertificates(text).map((certificate) => certificate.pem);
    } catch {
      return [];
    }
  });
}

function usable(body: string): UsableCertificate {
  const lines = body.split(/\r\n|\r|\n/).map((line) => line.trimEnd());
  if (lines.some((line) => /^\s/.test(line))) throw new Error(`its lines are indented; ${ADVICE}`);
  const base64 = lines.join('');
  const der = fromBase64(base64);
  if (der === undefined || der.length === 0)
    throw new Error('this is no certificate: neither PEM nor the base64 of one');
  const certificate = parsed(der);
  assertVerifies(certificate.publicKey);
  return { pem: writePem('CERTIFICATE', certificate.raw), certificate };
}

function parsed(der: Buffer): X509Certificate {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(der);
  } catch {
    throw new Error('this is no X.509 certificate');
  }
  if (!certificate.raw.equals(der)) throw new Error('there is something behind the certificate');
  return certificate;
}

/** XML signatures are made with RSA or ECDSA here (saml-document.ts). */
function assertVerifies({ asymmetricKeyType: type }: KeyObject): void {
  if (type !== 'rsa' && type !== 'ec') throw new Error(`a key of the type ${type} signs no SAML assertion`);
}

function whatIsAround(text: string): string {
  const begin = text.indexOf('-----BEGIN ');
  if (begin > 0) return `there is text around the certificate; ${ADVICE}`;
  return begin === 0
    ? `this is no whole block of PEM with a certificate; ${ADVICE}`
    : `there is text behind the certificate; ${ADVICE}`;
}

function refused(pointer: string, detail: string): Problem {
  return new Problem('refused', 'identity-provider.certificate', `${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
