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
import { bitString, integer, sequence, tagged, time } from '../../formats/asn1/der-writer.js';
import { EXTENDED_KEY_USAGES } from '../../auth/credentials/certificates/certificate-facts.js';

/** Supported attributes of a distinguished name, in the order in which they are written. */
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

/** The only version number defined for PKCS #10. */
const VERSION = 0;

/** Returns the CertificationRequestInfo (RFC 2986 section 4.1) in DER: the bytes that the key signs to request a certificate. */
export function certificationRequestInfo({ subject, publicKey, purpose }: RequestedCertificate): Buffer {
  const attribute = new ExtensionsAttribute(extensionsFor(purpose, publicKey));
  return sequence(integer(VERSION), nameOf(subject), publicKey, tagged(0, Buffer.from(attribute.rawData)));
}

export interface SelfIssuedCertificate extends RequestedCertificate {
  /** AlgorithmIdentifier of the signature, DER. */
  readonly algorithm: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Value that encodes version 3. */
const VERSION_3 = 2;
const SERIAL_NUMBER_BYTES = 16;

/**
 * Returns a DER-encoded TBSCertificate (RFC 5280 section 4.1.2) whose issuer equals its subject. The serial number is a hash of the other fields, so equal
 * contents produce equal bytes.
 */
export function selfIssuedCertificate(contents: SelfIssuedCertificate): Buffer {
  const { subject, publicKey, purpose, algorithm, notBefore, notAfter } = contents;
  const name = nameOf(subject);
  const extensions = extensionsFor(purpose, publicKey).map(({ rawData }) => Buffer.from(rawData));
  const rest = [
    algorithm,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKey,
    tagged(3, sequence(...extensions)),
  ];
  const serialNumber = createHash('sha256').update(Buffer.concat(rest)).digest().subarray(0, SERIAL_NUMBER_BYTES);
  // Positive, and never zero (RFC 5280 section 4.1.2.2).
  serialNumber.writeUInt8((serialNumber.readUInt8() & 0x7f) | 0x40);
  return sequence(tagged(0, integer(VERSION_3)), integer(serialNumber), ...rest);
}

/** Returns a CertificationRequest or Certificate in DER: the signed structure, the algorithm and the signature. */
export function signed(toBeSigned: Buffer, algorithm: Buffer, signature: Buffer): Buffer {
  return sequence(toBeSigned, algorithm, bitString(signature));
}

/** Returns a Name (RFC 5280 section 4.1.2.4) in DER. */
function nameOf(subject: DistinguishedName): Buffer {
  const parts = Object.keys(NAME_PARTS) as (keyof typeof NAME_PARTS)[];
  const given = parts.flatMap((part) => {
    const text = subject[part];
    if (text === undefined) return [];
    // RFC 5280 appendix A: the country must be a PrintableString; every other attribute may be a UTF8String.
    return [{ [NAME_PARTS[part]]: [part === 'country' ? { printableString: text } : { utf8String: text }] }];
  });
  return Buffer.from(new Name(given).toArrayBuffer());
}

/** Returns the extensions that verifiers need, critical where required (RFC 5280 section 4.2.1, RFC 3161 section 2.3). */
function extensionsFor(purpose: KeyPurpose, publicKey: Buffer): Extension[] {
  const identifier = createHash('sha256').update(publicKey).digest().subarray(0, 20);
  const ski = new SubjectKeyIdentifierExtension(identifier.toString('hex'));
  if (purpose === 'certificates') {
    const usages = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign;
    return [new BasicConstraintsExtension(true, undefined, true), new KeyUsagesExtension(usages, true), ski];
  }
  const usage = USAGES[purpose];
  const extended =
    usage === undefined ? [] : [new ExtendedKeyUsageExtension([EXTENDED_KEY_USAGES[usage]], usage === 'time-stamping')];
  return [new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true), ...extended, ski];
}

/** Extended key usage of certificates, by key purpose. No extended key usage is defined for OpenPGP and SSH. */
const USAGES: Partial<Record<KeyPurpose, keyof typeof EXTENDED_KEY_USAGES>> = {
  signing: 'code-signing',
  'code-signing': 'code-signing',
  documents: 'document-signing',
  'tls-client': 'client-auth',
  timestamping: 'time-stamping',
};
