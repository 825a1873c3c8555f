import { createHash } from 'node:crypto';
import {
  type DerElement,
  derElements,
  dotted,
  elementsInside,
  elementsOfSequence,
} from '../../formats/asn1/der-reader.js';
import { octetString, oid, sequence, tagged } from '../../formats/asn1/der-writer.js';
import { DIGEST_OID, FORMAT_DIGESTS } from './algorithm-identifiers.js';
import { attribute, issuerAndSerialNumber } from './signed-data.js';

/** Signed attributes that identify the signer's certificate by its hash (RFC 5035 sections 3 and 5). */
export const SIGNING_CERTIFICATE = {
  v1: '1.2.840.113549.1.9.16.2.12',
  v2: '1.2.840.113549.1.9.16.2.47',
} as const;
export type SigningCertificateVersion = keyof typeof SIGNING_CERTIFICATE;

/** CertificateId names one certificate by its hash and, optionally, by its issuer and serial number. */
export interface CertificateId {
  readonly algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  readonly hash: Buffer;
  /** GeneralNames with the issuer, and the serial number, as in the attribute. */
  readonly issuerSerial?: { readonly issuer: Buffer; readonly serialNumber: Buffer };
}

const SEQUENCE = 0x30;
const OCTET_STRING = 0x04;

/** signingCertificate returns the attribute signing-certificate-v2 for a certificate. The hash algorithm SHA-256 is the default and therefore omitted. */
export function signingCertificate(certificate: Buffer): Buffer {
  const { issuer, serialNumber } = issuerAndSerialNumber(certificate);
  const hash = octetString(createHash('sha256').update(certificate).digest());
  const issuerSerial = sequence(sequence(tagged(4, issuer)), serialNumber);
  return attribute(SIGNING_CERTIFICATE.v2, sequence(sequence(sequence(hash, issuerSerial))));
}

/**
 * Parses a value of the attribute signing-certificate or signing-certificate-v2: the signer's certificate first, then the certificates that restrict its
 * path.
 *
 * @throws RangeError if the value is malformed, contains no certificate, or uses an unsupported hash
 */
export function readSigningCertificate(version: SigningCertificateVersion, value: Buffer): CertificateId[] {
  const [certificates] = elementsOfSequence(value);
  const ids = elementsInside(certificates).map((one) => readCertificateId(version, one));
  if (ids.length === 0) throw new RangeError('the signing-certificate attribute does not name a certificate');
  return ids;
}

/** identifies reports whether the ID identifies this certificate (DER): the hash and, if present, issuer and serial number must match. */
export function identifies({ algorithm, hash, issuerSerial }: CertificateId, certificate: Buffer): boolean {
  if (!createHash(algorithm).update(certificate).digest().equals(hash)) return false;
  if (issuerSerial === undefined) return true;
  const { issuer, serialNumber } = issuerAndSerialNumber(certificate);
  return issuerSerial.issuer.equals(sequence(tagged(4, issuer))) && issuerSerial.serialNumber.equals(serialNumber);
}

function readCertificateId(version: SigningCertificateVersion, id: DerElement): CertificateId {
  const fields = elementsInside(id);
  const named = version === 'v2' && fields[0]?.tag === SEQUENCE ? fields.shift() : undefined;
  const [hash, issuerSerial] = fields;
  if (hash?.tag !== OCTET_STRING) throw new RangeError('the signing-certificate attribute has no hash');
  const [issuer, serialNumber] = elementsInside(issuerSerial);
  return {
    algorithm: version === 'v1' ? 'sha1' : hashNamed(named),
    hash: hash.contents,
    ...(issuer === undefined || serialNumber === undefined
      ? {}
      : { issuerSerial: { issuer: issuer.raw, serialNumber: serialNumber.raw } }),
  };
}

function hashNamed(identifier: DerElement | undefined): CertificateId['algorithm'] {
  if (identifier === undefined) return 'sha256';
  const [algorithmId] = derElements(identifier.contents);
  const algorithm = FORMAT_DIGESTS.find((name) => algorithmId?.raw.equals(oid(DIGEST_OID[name])));
  if (algorithm !== undefined) return algorithm;
  const name = algorithmId === undefined ? 'none' : dotted(algorithmId.contents);
  throw new RangeError(`the signing-certificate attribute uses the unsupported hash algorithm ${name}`);
}
