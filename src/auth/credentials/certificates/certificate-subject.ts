import 'reflect-metadata';
import { X509Certificate as ParsedCertificate } from '@peculiar/x509';
import type { X509Certificate } from 'node:crypto';
import { parseAddress } from '../../../formats/encoding/ip-address.js';
import { elementsOfSequence } from '../../../formats/asn1/der-reader.js';
import { nameInDer, nameInText } from '../../../formats/asn1/distinguished-name.js';

/** Kinds of subjects that can identify a client's certificate, named like the `tls_client_auth_` parameters of RFC 8705 section 2.1.2. */
export const SUBJECT_KINDS = ['subject_dn', 'san_dns', 'san_uri', 'san_ip', 'san_email'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** The subject that identifies a client's certificate. */
export interface ExpectedSubject {
  readonly kind: SubjectKind;
  readonly value: string;
}

const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
/** Context tags of GeneralName (RFC 5280 section 4.2.1.6). */
const TAG = { san_email: 0x81, san_dns: 0x82, san_uri: 0x86, san_ip: 0x87 } as const;
const MAX_HOST_NAME = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * Reports whether a certificate has the expected subject: as its whole distinguished name, or as one of its subject alternative names of the same kind. A
 * common name does not count as an alternative name, and names in a certificate are never patterns.
 */
export function hasSubject(certificate: X509Certificate, { kind, value }: ExpectedSubject): boolean {
  const parsed = new ParsedCertificate(certificate.raw);
  if (kind === 'subject_dn') return nameInDer(Buffer.from(parsed.subjectName.toArrayBuffer())) === nameInText(value);
  const extension = parsed.getExtension(SUBJECT_ALTERNATIVE_NAME);
  if (extension === null) return false;
  const names = elementsOfSequence(Buffer.from(extension.value)).filter(({ tag }) => tag === TAG[kind]);
  return names.some(({ contents }) => EQUAL[kind](contents, value));
}

/** Functions that report whether the octets in a certificate equal a name, by kind. */
const EQUAL: Record<Exclude<SubjectKind, 'subject_dn'>, (octets: Buffer, value: string) => boolean> = {
  san_dns: (octets, value) => octets.toString('latin1').toLowerCase() === value.toLowerCase(),
  // URIs are compared octet by octet: https://a/ and https://a differ.
  san_uri: (octets, value) => octets.toString('latin1') === value,
  san_ip: (octets, value) => octets.equals(octetsOfAddress(value)),
  // Whether the local part is case-sensitive depends on the domain (RFC 5280 section 7.5).
  san_email: (octets, value) => emailOf(octets.toString('latin1')) === emailOf(value),
};

function emailOf(text: string): string {
  const at = text.lastIndexOf('@');
  return text.slice(0, at) + text.slice(at).toLowerCase();
}

/** Returns the four or sixteen octets of an IP address; empty if the string is not an IP address. */
function octetsOfAddress(text: string): Buffer {
  const address = parseAddress(text);
  if (address === undefined) return Buffer.alloc(0);
  const digits = address.family === 4 ? 8 : 32;
  return Buffer.from(address.value.toString(16).padStart(digits, '0'), 'hex');
}

/** Returns the reason why no certificate can have the subject; undefined if the subject is valid. */
export function faultOfSubject({ kind, value }: ExpectedSubject): string | undefined {
  return FAULT[kind](value);
}

const FAULT: Record<SubjectKind, (value: string) => string | undefined> = {
  subject_dn(value) {
    try {
      nameInText(value);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : 'cannot be parsed';
    }
  },
  san_dns(value) {
    if (parseAddress(value) !== undefined) return 'is an IP address; use tls_client_auth_san_ip instead';
    const isName = value.length <= MAX_HOST_NAME && value.split('.').every((label) => LABEL.test(label));
    return isName ? undefined : 'must be a single host name in ASCII, without a wildcard or a trailing dot';
  },
  san_uri: (value) =>
    PRINTABLE.test(value) && URL.canParse(value) ? undefined : 'must be a URI in ASCII with a scheme',
  san_ip: (value) => (parseAddress(value) === undefined ? 'must be an IPv4 or IPv6 address' : undefined),
  san_email: (value) =>
    PRINTABLE.test(value) && value.split('@').length === 2 && !value.startsWith('@') && !value.endsWith('@')
      ? undefined
      : 'must be an email address in ASCII',
};
