import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto';
import { derElements, type DerElement } from '../../src/formats/asn1/der-reader.js';
import {
  bitString,
  element,
  integer,
  octetString,
  oid,
  sequence,
  setOf,
  tagged,
  time,
  utf8String,
} from '../../src/formats/asn1/der-writer.js';
import { issuerAndSerialNumber } from '../../src/signing/formats/signed-data.js';

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const DAY_MS = 24 * 3600 * 1000;

interface ImposedCertificate {
  readonly subject: string;
  /** SubjectPublicKeyInfo (DER) of the key to certify. */
  readonly publicKey: Buffer;
  readonly days?: number;
  readonly extensions?: readonly Buffer[];
}

/** ImposterAuthority is a certificate authority that certifies any public key under any name. Anyone can set up such an authority. */
export class ImposterAuthority {
  readonly certificate: X509Certificate;
  private readonly key: KeyObject;

  constructor(private readonly name: string) {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.key = pair.privateKey;
    const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
    const isAuthority = extension('2.5.29.19', sequence(element(0x01, Buffer.from([0xff]))));
    this.certificate = this.certify({ subject: name, publicKey, extensions: [isAuthority] });
  }

  certify({ subject, publicKey, days = 365, extensions = [] }: ImposedCertificate): X509Certificate {
    const content = sequence(
      tagged(0, integer(2)),
      integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
      ECDSA_SHA256,
      nameOf(this.name),
      sequence(time(new Date(Date.now() - DAY_MS)), time(new Date(Date.now() + days * DAY_MS))),
      nameOf(subject),
      publicKey,
      ...(extensions.length === 0 ? [] : [tagged(3, sequence(...extensions))]),
    );
    const signature = sign('sha256', content, this.key);
    return new X509Certificate(sequence(content, ECDSA_SHA256, bitString(signature)));
  }
}

/** Builds a critical certificate extension. */
export function extension(type: string, value: Buffer): Buffer {
  return sequence(oid(type), element(0x01, Buffer.from([0xff])), octetString(value));
}

/** Extended key usage of timestamp authorities. */
export const FOR_TIMESTAMPS = extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.8')));

function nameOf(commonName: string): Buffer {
  return sequence(setOf(sequence(oid('2.5.4.3'), utf8String(commonName))));
}

/** Returns a CMS SignedData (DER) with these certificates, the first of which identifies the only signer. The signature is not changed. */
export function withCertificates(signedData: Buffer, certificates: readonly X509Certificate[]): Buffer {
  const [type, explicit] = insideOf(signedData);
  const fields = insideOf(raw(insideOf(raw(explicit))[0]));
  const [signer] = insideOf(raw(fields.at(-1)));
  const [version, , ...rest] = insideOf(raw(signer));
  const [first] = certificates;
  if (first === undefined) throw new Error('a signer is named by a certificate');
  const { issuer, serialNumber } = issuerAndSerialNumber(first.raw);
  const named = sequence(raw(version), sequence(issuer, serialNumber), ...rest.map((one) => one.raw));
  const before = fields.slice(
    0,
    fields.findIndex(({ tag }, i) => i > 2 && (tag === 0xa0 || tag === 0x31)),
  );
  const body = sequence(
    ...before.map((one) => one.raw),
    tagged(0, ...certificates.map((one) => one.raw)),
    setOf(named),
  );
  return sequence(raw(type), tagged(0, body));
}

/** Returns the certificates in a CMS SignedData. */
export function certificatesIn(signedData: Buffer): X509Certificate[] {
  const [, explicit] = insideOf(signedData);
  const fields = insideOf(raw(insideOf(raw(explicit))[0]));
  const set = fields.find(({ tag }, i) => i > 2 && tag === 0xa0);
  return derElements(set?.contents ?? Buffer.alloc(0)).map((one) => new X509Certificate(one.raw));
}

/** Returns the SHA-256 thumbprint of a certificate as base64url, as in JWS headers. */
export function thumbprintOf(certificate: X509Certificate): string {
  return createHash('sha256').update(certificate.raw).digest('base64url');
}

function insideOf(bytes: Buffer): DerElement[] {
  return derElements(derElements(bytes)[0]?.contents ?? Buffer.alloc(0));
}

function raw(one: DerElement | undefined): Buffer {
  if (one === undefined) throw new Error('a part of the SignedData is missing');
  return one.raw;
}
