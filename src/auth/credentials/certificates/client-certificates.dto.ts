import { JsonObject, ListOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { MAX_KEY_SET_BYTES } from '../key-sets/key-set.js';
import {
  type CertificateRegistration,
  type CertificateRule,
  MAX_REGISTERED_CERTIFICATES,
  type RegisteredCertificate,
} from './certificate-rule.js';

const MAX_PEM_LENGTH = 16 * 1024;
const MAX_SUBJECT_LENGTH = 1000;

/** Members of a body that specify a client's certificates, or their issuers and the subject of the certificate. */
export class ClientCertificateMembers {
  /**
   * Certificates of the client as PEM (`self_signed_tls_client_auth`). The issuers of these certificates are not checked.
   * @example ["-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIUXK4…\n-----END CERTIFICATE-----"]
   */
  @Optional(ListOf(Text(1, MAX_PEM_LENGTH), { min: 1, max: MAX_REGISTERED_CERTIFICATES })) certificates?: string[];
  /**
   * Certificates of the authorities that issue the client's certificate, as PEM (`tls_client_auth`).
   * @example ["-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIUXK4…\n-----END CERTIFICATE-----"]
   */
  @Optional(ListOf(Text(1, MAX_PEM_LENGTH), { min: 1, max: MAX_REGISTERED_CERTIFICATES })) trustAnchors?: string[];
  /**
   * Intermediate certificates between the client's certificate and a trust anchor, for proxies that forward only the client's certificate.
   * @example ["-----BEGIN CERTIFICATE-----\nMIIBdTCCARugAwIBAgIUXK4…\n-----END CERTIFICATE-----"]
   */
  @Optional(ListOf(Text(1, MAX_PEM_LENGTH), { min: 1, max: MAX_REGISTERED_CERTIFICATES })) intermediates?: string[];
  /**
   * Full subject distinguished name of the certificate, in RFC 4514 format (`openssl x509 -subject -nameopt RFC2253`). With `trustAnchors`, exactly one of the
   * five `tls_client_auth_*` members is required.
   * @example "CN=deploy,O=Example Ltd,C=GB"
   */
  @Optional(Text(1, MAX_SUBJECT_LENGTH)) tls_client_auth_subject_dn?: string;
  /** A host name in the subject alternative names. @example deploy.example.com */
  @Optional(Text(1, MAX_SUBJECT_LENGTH)) tls_client_auth_san_dns?: string;
  /** A URI in the subject alternative names, such as a SPIFFE ID. @example spiffe://example.com/ci/deploy */
  @Optional(Text(1, MAX_SUBJECT_LENGTH)) tls_client_auth_san_uri?: string;
  /** An IP address in the subject alternative names. @example 192.0.2.7 */
  @Optional(Text(1, MAX_SUBJECT_LENGTH)) tls_client_auth_san_ip?: string;
  /** An email address in the subject alternative names. @example deploy@example.com */
  @Optional(Text(1, MAX_SUBJECT_LENGTH)) tls_client_auth_san_email?: string;
}

/** Either certificates of the client itself (`certificates`, or `jwks` with `x5c`), or trust anchors with a subject. */
export class ClientCertificatesBody extends ClientCertificateMembers {
  /** Alternative to `certificates`: a JWK Set of public keys, each with its certificate as the first item of `x5c`. */
  @Optional(
    JsonObject(MAX_KEY_SET_BYTES, { example: { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', x5c: ['MIIB…'] }] } }),
  )
  jwks?: Record<string, unknown>;
}

export function certificateOrderOf(
  body: ClientCertificateMembers & Pick<ClientCertificatesBody, 'jwks'>,
): CertificateRegistration {
  // A null member counts as omitted.
  return {
    certificates: body.certificates ?? undefined,
    jwks: body.jwks ?? undefined,
    trustAnchors: body.trustAnchors ?? undefined,
    intermediates: body.intermediates ?? undefined,
    subjects: {
      subject_dn: body.tls_client_auth_subject_dn ?? undefined,
      san_dns: body.tls_client_auth_san_dns ?? undefined,
      san_uri: body.tls_client_auth_san_uri ?? undefined,
      san_ip: body.tls_client_auth_san_ip ?? undefined,
      san_email: body.tls_client_auth_san_email ?? undefined,
    },
  };
}

export class RegisteredCertificateView {
  /** SHA-256 of the certificate's DER, base64url (`x5t#S256`). @example bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2 */
  sha256: string;
  /** @example "CN=deploy,O=Example Ltd,C=GB" */
  subject: string;
  notAfter: Date;

  static of({ sha256, subject, notAfter }: RegisteredCertificate): RegisteredCertificateView {
    return { sha256, subject, notAfter: new Date(notAfter) };
  }
}

/** The certificates with which a client authenticates. The lists are empty for clients that use another method. */
export class ClientCertificatesView {
  certificates: RegisteredCertificateView[];
  trustAnchors: RegisteredCertificateView[];
  intermediates: RegisteredCertificateView[];
  /** @example "CN=deploy,O=Example Ltd,C=GB" */
  tls_client_auth_subject_dn?: string;
  /** @example deploy.example.com */
  tls_client_auth_san_dns?: string;
  /** @example spiffe://example.com/ci/deploy */
  tls_client_auth_san_uri?: string;
  /** @example 192.0.2.7 */
  tls_client_auth_san_ip?: string;
  /** @example deploy@example.com */
  tls_client_auth_san_email?: string;
}

/** Returns the members of the view. Members that the client's authentication method does not use are empty or absent. */
export function certificatesViewOf(
  rule: CertificateRule | null,
): Pick<ClientCertificatesView, keyof ClientCertificatesView> {
  const none = { certificates: [], trustAnchors: [], intermediates: [] };
  const views = (list: readonly RegisteredCertificate[]) => list.map((one) => RegisteredCertificateView.of(one));
  if (rule === null) return none;
  if (!('subject' in rule)) return { ...none, certificates: views(rule.certificates) };
  const { trustAnchors, intermediates, subject } = rule;
  const lists = { trustAnchors: views(trustAnchors), intermediates: views(intermediates) };
  return { ...none, ...lists, [`tls_client_auth_${subject.kind}`]: subject.value };
}
