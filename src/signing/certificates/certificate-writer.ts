import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  type Extension,
  ExtendedKeyUsageExtension,
  ExtensionsAttribute,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectKeyIdentifierExtension,
} from '@peculiar/x509';
import { createHash } from 'node:crypto';
import type { KeyPurpose } from '../keys/signing-key.entity.js';
import { bitString, integer, sequence, tagged } from '../../formats/asn1/der-writer.js';
import { PURPOSES } from './certificate-facts.js';

/** The parts of a distinguished name that are asked for, in the order in which they are written. */
export const NAME_PARTS = {
  country: '2.5.4.6',
  state: '2.5.4.8',
  locality: '2.5.4.7',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  commonName: '2.5.4.3',
} as const;
export type DistinguishedName = { readonly [part in keyof typeof NAME_PARTS]?: string };

export interface RequestedCertificate {
  readonly subject: DistinguishedName;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly purpose: KeyPurpose;
}

/** The only version of PKCS #10. */
const VERSION = 0;

/** CertificationRequestInfo (RFC 2986 section 4.1), DER: what the key signs to ask for a certificate. */
export function certificationRequestInfo({ subject, publicKey, purpose }: RequestedCertificate): Buffer {
  const attribute = new ExtensionsAttribute(extensionsFor(purpose, publicKey));
  return sequence(integer(VERSION), nameOf(subject), publicKey, tagged(0, Buffer.from(attribute.rawData)));
}

/** CertificationRequest or Certificate, DER: what was signed, by which algorithm, and the signature. */
export function signed(toBeSigned: Buffer, algorithm: Buffer, signature: Buffer): Buffer {
  return sequence(toBeSigned, algorithm, bitString(signature));
}

/** Name (RFC 5280 section 4.1.2.4), DER. */
function nameOf(subject: DistinguishedName): Buffer {
  const parts = Object.keys(NAME_PARTS) as (keyof typeof NAME_PARTS)[];
  const given = parts.flatMap((part) => {
    const text = subject[part];
    if (text === undefined) return [];
    // RFC 5280 appendix A: the country is a PrintableString, everything else may be UTF-8.
    return [{ [NAME_PARTS[part]]: [part === 'country' ? { printableString: text } : { utf8String: text }] }];
  });
  return Buffer.from(new Name(given).toArrayBuffer());
}

/** The extensions that a verifier needs, critical where the standards want it (RFC 5280 section 4.2.1, RFC 3161 section 2.3). */
function extensionsFor(purpose: KeyPurpose, publicKey: Buffer): Extension[] {
  const identifier = createHash('sha256').update(publicKey).digest().subarray(0, 20);
  const ski = new SubjectKeyIdentifierExtension(identifier.toString('hex'));
  if (purpose === 'certificates') {
    const usages = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign;
    return [new BasicConstraintsExtension(true, undefined, true), new KeyUsagesExtension(usages, true), ski];
  }
  const usage = USAGES[purpose];
  const extended =
    usage === undefined ? [] : [new ExtendedKeyUsageExtension([PURPOSES[usage]], usage === 'time-stamping')];
  return [new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true), ...extended, ski];
}

/** The extended key usage that the certificate of a key is to have. OpenPGP and SSH know none. */
const USAGES: Partial<Record<KeyPurpose, keyof typeof PURPOSES>> = {
  signing: 'code-signing',
  'code-signing': 'code-signing',
  documents: 'document-signing',
  'tls-client': 'client-auth',
  timestamping: 'time-stamping',
};
