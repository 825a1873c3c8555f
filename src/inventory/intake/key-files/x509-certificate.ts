import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  type Extension,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  KeyUsage,
  type Name,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509';
import { createHash } from 'node:crypto';
import { derElements, derTime, dotted } from '../../../formats/asn1/der-reader.js';
import { HASH_OIDS, KEY_OIDS, SIGNATURE_OIDS } from '../../judgement/vocabularies/key-oids.js';
import { findByOid } from '../../judgement/vocabularies/object-identifiers.js';
import { type PublicKeyAlgorithm, publicKeyAlgorithm } from '../../judgement/vocabularies/public-key-algorithm.js';

/** X509CertificateContent is the content of a certificate. Fingerprints are SHA-256 in hexadecimal. */
export interface X509CertificateContent {
  readonly fingerprint: string;
  /** Subject distinguished name as a string (RFC 4514). */
  readonly subject: string;
  readonly issuer: string;
  readonly commonName: string | undefined;
  /** Serial number in hexadecimal, as encoded in the certificate. */
  readonly serialNumber: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly signature: { readonly oid: string; readonly name: string };
  readonly key: PublicKeyAlgorithm & { readonly fingerprint: string };
  readonly isAuthority: boolean;
  readonly purposes: readonly string[];
  /** Key usages as named in RFC 5280 section 4.2.1.3; empty if the certificate does not restrict the use of the key. */
  readonly keyUsages: readonly string[];
  readonly names: readonly string[];
}

const EXPLICIT_VERSION = 0xa0;
const PURPOSES: Readonly<Record<string, string>> = {
  '1.3.6.1.5.5.7.3.1': 'serverAuth',
  '1.3.6.1.5.5.7.3.2': 'clientAuth',
  '1.3.6.1.5.5.7.3.3': 'codeSigning',
  '1.3.6.1.5.5.7.3.4': 'emailProtection',
  '1.3.6.1.5.5.7.3.8': 'timeStamping',
  '1.3.6.1.5.5.7.3.9': 'OCSPSigning',
};

/**
 * readX509Certificate reads an X.509 certificate (RFC 5280), even if its algorithm or names are unknown, because an inventory must be complete.
 *
 * @throws Error if the bytes are not a certificate
 */
export function readX509Certificate(der: Buffer): X509CertificateContent {
  const certificate = AsnConvert.parse(der, Certificate);
  const { tbsCertificate: tbs } = certificate;
  const [notBefore, notAfter] = validityOf(der);
  const find = (id: string) => tbs.extensions?.find(({ extnID }) => extnID === id);
  const spki = Buffer.from(AsnConvert.serialize(tbs.subjectPublicKeyInfo));
  return {
    fingerprint: sha256(der),
    subject: nameText(tbs.subject),
    issuer: nameText(tbs.issuer),
    commonName: commonNameOf(tbs.subject),
    serialNumber: Buffer.from(tbs.serialNumber).toString('hex'),
    notBefore,
    notAfter,
    // Uses the algorithm identifier in the TBSCertificate, because the identifier next to the signature is not signed.
    signature: { oid: tbs.signature.algorithm, name: signatureName(tbs.signature.algorithm, tbs.signature.parameters) },
    key: { ...publicKeyAlgorithm(tbs.subjectPublicKeyInfo), fingerprint: sha256(spki) },
    isAuthority: read(find(id_ce_basicConstraints), BasicConstraints)?.cA ?? false,
    purposes: [...(read(find(id_ce_extKeyUsage), ExtendedKeyUsage) ?? [])].map((id) => PURPOSES[id] ?? id),
    keyUsages: keyUsagesOf(read(find(id_ce_keyUsage), KeyUsage)),
    names: alternativeNames(read(find(id_ce_subjectAltName), SubjectAlternativeName)),
  };
}

/** Returns the validity period as encoded in the certificate. The field follows version, serial number, signature and issuer. */
function validityOf(der: Buffer): [Date, Date] {
  const [certificate] = derElements(der);
  const [tbs] = derElements(certificate?.contents ?? Buffer.alloc(0));
  const fields = derElements(tbs?.contents ?? Buffer.alloc(0));
  const validity = fields[fields[0]?.tag === EXPLICIT_VERSION ? 4 : 3];
  const [from, to] = derElements(validity?.contents ?? Buffer.alloc(0)).map(derTime);
  if (from === undefined || to === undefined) throw new RangeError('the certificate has no validity period');
  return [from, to];
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Names of the key usage bits, from bit 0. */
const KEY_USAGES = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
];

function keyUsagesOf(usage: KeyUsage | undefined): string[] {
  const bits = usage?.toNumber() ?? 0;
  return KEY_USAGES.filter((_, bit) => (bits & (1 << bit)) !== 0);
}

/** Returns the name of a signature algorithm. For RSASSA-PSS, the parameters contain the hash algorithm (RFC 4055 section 3.1); the default is SHA-1. */
function signatureName(oid: string, parameters: ArrayBuffer | null | undefined): string {
  const name = SIGNATURE_OIDS[oid] ?? KEY_OIDS[oid]?.name ?? findByOid(oid)?.name ?? oid;
  if (name !== 'RSASSA-PSS') return name;
  return `${name}-${pssHash(parameters) ?? 'SHA1'}`;
}

function pssHash(parameters: ArrayBuffer | null | undefined): string | undefined {
  if (parameters == null) return undefined;
  try {
    const [sequence] = derElements(Buffer.from(parameters));
    const hash = derElements(sequence?.contents ?? Buffer.alloc(0)).find(({ tag }) => tag === 0xa0);
    const [identifier] = derElements(hash?.contents ?? Buffer.alloc(0));
    const [id] = derElements(identifier?.contents ?? Buffer.alloc(0));
    if (id === undefined) return undefined;
    const text = dotted(id.contents);
    return HASH_OIDS[text] ?? findByOid(text)?.name ?? text;
  } catch {
    return undefined;
  }
}

/** Parses an extension. Returns undefined for a malformed extension, because the certificate must be listed in any case. */
function read<T>(extension: Extension | undefined, syntax: new () => T): T | undefined {
  if (extension === undefined) return undefined;
  try {
    return AsnConvert.parse(extension.extnValue.buffer, syntax);
  } catch {
    return undefined;
  }
}

function alternativeNames(names: SubjectAlternativeName | undefined): string[] {
  return [...(names ?? [])].flatMap(({ dNSName, iPAddress, rfc822Name, uniformResourceIdentifier: uri }) => {
    const text = dNSName ?? iPAddress ?? rfc822Name ?? uri;
    return text === undefined ? [] : [clean(text)];
  });
}

const ATTRIBUTES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'SERIALNUMBER',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '0.9.2342.19200300.100.1.1': 'UID',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'E',
};

/** Tags of NumericString and VisibleString, which also contain text. */
const PLAIN_STRINGS: ReadonlySet<number> = new Set([0x12, 0x1a]);

function valueText(value: { toString(): string; anyValue?: ArrayBuffer }): string {
  if (value.anyValue === undefined) return clean(value.toString());
  const bytes = Buffer.from(value.anyValue);
  const [plain] = PLAIN_STRINGS.has(bytes[0] ?? 0) ? derElements(bytes) : [];
  return plain === undefined ? `#${bytes.toString('hex')}` : clean(plain.contents.toString('latin1'));
}

/** Formats a distinguished name (RFC 4514): most specific RDN first, special characters escaped. */
function nameText(name: Name): string {
  return [...name]
    .reverse()
    .map((part) =>
      [...part]
        .map(({ type, value }) => `${ATTRIBUTES[type] ?? type}=${valueText(value).replaceAll(/[,+"\\<>;]/g, '\\$&')}`)
        .join('+'),
    )
    .join(',');
}

function commonNameOf(name: Name): string | undefined {
  const attributes = [...name].flatMap((part) => [...part]);
  const value = attributes.findLast(({ type }) => type === '2.5.4.3')?.value;
  return value === undefined ? undefined : valueText(value);
}

/** Removes NUL characters, which PostgreSQL cannot store. */
function clean(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
