import { createHash, createPublicKey, type JsonWebKey, type X509Certificate } from 'node:crypto';
import { exactCertificate, readCertificates } from '../../../formats/asn1/certificate-text.js';
import { fromBase64, writePem } from '../../../formats/encoding/base64.js';
import { Problem } from '../../../platform/errors/problem.js';
import { hasSecretKey } from '../key-sets/key-set.js';
import { assertInItsDates, assertIsAuthority, CertificateRefused, strongCertificate } from './certificate-checks.js';
import { type ExpectedSubject, faultOfSubject, SUBJECT_KINDS, type SubjectKind } from './certificate-subject.js';

/** Maximum number of certificates in each of a client's certificate lists. */
export const MAX_REGISTERED_CERTIFICATES = 10;

/** A registered certificate. */
export interface RegisteredCertificate {
  readonly pem: string;
  /** SHA-256 of the DER, base64url (`x5t#S256`). */
  readonly sha256: string;
  /** The subject on one line, in the order of RFC 4514. */
  readonly subject: string;
  /** Expiry in ISO 8601 format. */
  readonly notAfter: string;
}

/** Registered certificates of the client itself (RFC 8705 section 2.2). */
export interface OwnCertificates {
  readonly certificates: readonly RegisteredCertificate[];
}

/** The issuers of a client's certificates, and the subject that identifies the client (RFC 8705 section 2.1). */
export interface IssuedCertificates {
  readonly trustAnchors: readonly RegisteredCertificate[];
  readonly intermediates: readonly RegisteredCertificate[];
  readonly subject: ExpectedSubject;
}

/** The certificates with which a client authenticates. */
export type CertificateRule = OwnCertificates | IssuedCertificates;

export type CertificateMethod = 'tls_client_auth' | 'self_signed_tls_client_auth';

/** The values of a registration, as received. */
export interface CertificateRegistration {
  readonly certificates?: readonly string[] | undefined;
  /** A JWK Set whose keys contain certificates (`x5c`). */
  readonly jwks?: object | undefined;
  readonly trustAnchors?: readonly string[] | undefined;
  readonly intermediates?: readonly string[] | undefined;
  readonly subjects: Readonly<Partial<Record<SubjectKind, string | undefined>>>;
}

export function methodOf(rule: CertificateRule): CertificateMethod {
  return 'subject' in rule ? 'tls_client_auth' : 'self_signed_tls_client_auth';
}

/** Returns the rule for the audit log: SHA-256 of each certificate, and the subject. */
export function ruleFactsOf(rule: CertificateRule): Record<string, unknown> {
  const hashes = (list: readonly RegisteredCertificate[]) => list.map(({ sha256 }) => sha256);
  if (!('subject' in rule)) return { certificates: hashes(rule.certificates) };
  const { trustAnchors, intermediates, subject } = rule;
  return {
    trustAnchors: hashes(trustAnchors),
    intermediates: hashes(intermediates),
    [`tls_client_auth_${subject.kind}`]: subject.value,
  };
}

/**
 * Reads and validates the registered values.
 *
 * @throws Problem `oauth-client.certificates` that points to the invalid value
 */
export function ruleOf(order: CertificateRegistration, now: Date): CertificateRule {
  const subject = subjectOf(order);
  if (subject === undefined && order.trustAnchors === undefined && order.intermediates === undefined)
    return { certificates: ownCertificates(order, now) };
  if (order.certificates !== undefined || order.jwks !== undefined)
    throw refused('/certificates', 'cannot be combined with trust anchors, intermediates or a subject');
  if (subject === undefined)
    throw refused(
      '/tls_client_auth_subject_dn',
      'is missing: specify one of the tls_client_auth_* members (RFC 8705 section 2.1.2)',
    );
  const authority = (certificate: X509Certificate) => {
    assertIsAuthority(certificate);
    assertInItsDates(certificate, now);
  };
  const trustAnchors = readList('/trustAnchors', order.trustAnchors ?? [], authority);
  if (trustAnchors.length === 0)
    throw refused('/trustAnchors', "must contain the certificate of the CA that issues the client's certificate");
  return { trustAnchors, intermediates: readList('/intermediates', order.intermediates ?? [], authority), subject };
}

function subjectOf({ subjects }: CertificateRegistration): ExpectedSubject | undefined {
  const named = SUBJECT_KINDS.flatMap((kind) => {
    const value = subjects[kind];
    return value === undefined ? [] : [{ kind, value }];
  });
  const [subject, second] = named;
  if (second !== undefined)
    throw refused(`/tls_client_auth_${second.kind}`, 'specify only one subject (RFC 8705 section 2.1.2)');
  const fault = subject && faultOfSubject(subject);
  if (subject !== undefined && fault !== undefined) throw refused(`/tls_client_auth_${subject.kind}`, fault);
  return subject;
}

function ownCertificates({ certificates, jwks }: CertificateRegistration, now: Date): RegisteredCertificate[] {
  if (certificates !== undefined && jwks !== undefined)
    throw refused('/certificates', 'specify either certificates or jwks');
  const inDates = (certificate: X509Certificate) => assertInItsDates(certificate, now);
  const read = jwks === undefined ? readList('/certificates', certificates ?? [], inDates) : inKeySet(jwks, inDates);
  if (read.length === 0) throw refused('/certificates', 'must contain at least one certificate');
  return read;
}

type Check = (certificate: X509Certificate) => void;

function readList(pointer: string, texts: readonly string[], check: Check): RegisteredCertificate[] {
  const read = texts.flatMap((text, index) =>
    judged(`${pointer}/${index}`, () => readCertificates(text).map((certificate) => usable(certificate.raw, check))),
  );
  return eachOnce(pointer, read);
}

/** Returns the certificates of a JWK Set: the first certificate of each `x5c`, which must contain the same public key as the JWK (RFC 7517 section 4.7). */
function inKeySet(jwks: object, check: Check): RegisteredCertificate[] {
  if (hasSecretKey(jwks)) throw refused('/jwks', 'contains a private or symmetric key; send only public keys');
  const { keys } = jwks as { keys?: unknown };
  if (!Array.isArray(keys)) throw refused('/jwks', 'must be a JWK Set, but the "keys" array is missing');
  const read = keys.map((key: unknown, index) =>
    judged(`/jwks/keys/${index}`, () => usable(certificateOfKey(key as JsonWebKey & { x5c?: unknown }), check)),
  );
  return eachOnce('/jwks', read);
}

function certificateOfKey(key: JsonWebKey & { readonly x5c?: unknown }): Buffer {
  const [first]: unknown[] = Array.isArray(key?.x5c) ? key.x5c : [];
  const der = typeof first === 'string' ? fromBase64(first) : undefined;
  if (der === undefined) throw new Error('has no certificate in x5c (RFC 7517 section 4.7)');
  const certificate = exactCertificate(der);
  if (!createPublicKey({ key, format: 'jwk' }).equals(certificate.publicKey))
    throw new Error('has a certificate in x5c that contains a different public key');
  return certificate.raw;
}

function usable(raw: Buffer, check: Check): RegisteredCertificate {
  const certificate = strongCertificate(raw);
  check(certificate);
  const { subject, validTo } = certificate;
  return {
    pem: writePem('CERTIFICATE', raw),
    sha256: createHash('sha256').update(raw).digest('base64url'),
    // Node returns undefined for an empty name.
    subject: ((subject as string | undefined) ?? '').split('\n').reverse().join(','),
    notAfter: new Date(validTo).toISOString(),
  };
}

function judged<Result>(pointer: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'cannot be parsed';
    throw refused(pointer, error instanceof CertificateRefused ? reason.replace(/\.$/, '') : reason);
  }
}

function eachOnce(pointer: string, read: readonly RegisteredCertificate[]): RegisteredCertificate[] {
  const once = [...new Map(read.map((one) => [one.sha256, one])).values()];
  if (once.length > MAX_REGISTERED_CERTIFICATES)
    throw refused(pointer, `must not contain more than ${MAX_REGISTERED_CERTIFICATES} certificates`);
  return once;
}

function refused(pointer: string, detail: string): Problem {
  const errors = [{ pointer, detail }];
  return new Problem('refused', 'oauth-client.certificates', `${pointer}: ${detail}.`, { errors });
}
