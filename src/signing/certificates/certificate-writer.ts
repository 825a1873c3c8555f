import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { Attributes, CertificationRequestInfo } from '@peculiar/asn1-csr';
import {
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectKeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
} from '@peculiar/asn1-x509';
import { createHash } from 'node:crypto';
import type { KeyPurpose } from '../keys/signing-key-purpose.js';
import { bitString, sequence } from '../../platform/asn1/der.js';
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

/** id-pkcs-9-at-extensionRequest (RFC 2985 section 5.4.2). */
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

export interface RequestedCertificate {
  readonly subject: DistinguishedName;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly purpose: KeyPurpose;
}

/** CertificationRequestInfo (RFC 2986 section 4.1): what the key signs to ask for a certificate. */
export function certificationRequestInfo({ subject, publicKey, purpose }: RequestedCertificate): Buffer {
  const extensions = AsnConvert.serialize(extensionsFor(purpose, publicKey));
  return serialize(
    new CertificationRequestInfo({
      subject: nameOf(subject),
      subjectPKInfo: AsnConvert.parse(publicKey, SubjectPublicKeyInfo),
      attributes: new Attributes([new Attribute({ type: EXTENSION_REQUEST, values: [extensions] })]),
    }),
  );
}

/** CertificationRequest or Certificate, DER: what was signed, by which algorithm, and the signature. */
export function signed(toBeSigned: Buffer, algorithm: Buffer, signature: Buffer): Buffer {
  return sequence(toBeSigned, algorithm, bitString(signature));
}

export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function nameOf(subject: DistinguishedName): Name {
  const parts = Object.keys(NAME_PARTS) as (keyof typeof NAME_PARTS)[];
  return new Name(
    parts.flatMap((part) => {
      const text = subject[part];
      if (text === undefined) return [];
      // RFC 5280 appendix A: the country is a PrintableString, everything else may be UTF-8.
      const value = new AttributeValue(part === 'country' ? { printableString: text } : { utf8String: text });
      return [new RelativeDistinguishedName([new AttributeTypeAndValue({ type: NAME_PARTS[part], value })])];
    }),
  );
}

/** What a verifier will look for, critical where the standards want it (RFC 5280 section 4.2.1, RFC 3161 section 2.3). */
function extensionsFor(purpose: KeyPurpose, publicKey: Buffer): Extensions {
  const identifier = createHash('sha256').update(publicKey).digest().subarray(0, 20);
  const ski = extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(arrayBuffer(identifier)));
  if (purpose === 'certificates') {
    const flags = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign;
    return new Extensions([
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true })),
      extension(id_ce_keyUsage, true, new KeyUsage(flags)),
      ski,
    ]);
  }
  const timestamping = purpose === 'timestamping';
  const usage = timestamping ? PURPOSES['time-stamping'] : PURPOSES['code-signing'];
  return new Extensions([
    extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, timestamping, new ExtendedKeyUsage([usage])),
    ski,
  ]);
}

function extension(id: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

function serialize(value: object): Buffer {
  return Buffer.from(AsnConvert.serialize(value));
}

function arrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}
