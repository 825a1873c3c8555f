import { integer, nullValue, octetString, oid, sequence, setOf, tagged, time } from '../../formats/asn1/der-writer.js';
import { derElements } from '../../formats/asn1/der-reader.js';
import { cmsSignatureIdentifier, DIGEST_OID, type FormatDigest } from './algorithm-identifiers.js';
import type { KeyType, SignatureScheme } from '../../hsm/key-vault.js';

const SIGNED_DATA = '1.2.840.113549.1.7.2';
const CONTENT_TYPE = '1.2.840.113549.1.9.3';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';
const SIGNING_TIME = '1.2.840.113549.1.9.5';
/** id-aa-timeStampToken (RFC 3161 appendix A): the attribute that turns CAdES-BES into CAdES-T. */
export const TIMESTAMP_TOKEN = '1.2.840.113549.1.9.16.2.14';

/** Returns an Attribute (RFC 5652 section 5.3) with one value. */
export const attribute = (type: string, value: Buffer): Buffer => sequence(oid(type), setOf(value));

export const contentType = (type: string): Buffer => attribute(CONTENT_TYPE, oid(type));
export const messageDigest = (digest: Buffer): Buffer => attribute(MESSAGE_DIGEST, octetString(digest));
export const signingTime = (at: Date): Buffer => attribute(SIGNING_TIME, time(at));

/** Returns the issuer and serial number of a certificate, byte for byte. */
export function issuerAndSerialNumber(certificate: Buffer): { issuer: Buffer; serialNumber: Buffer } {
  const [outer] = derElements(certificate);
  const [toBeSigned] = derElements(outer?.contents ?? Buffer.alloc(0));
  const fields = derElements(toBeSigned?.contents ?? Buffer.alloc(0)).filter(({ tag }) => tag !== 0xa0);
  const [serialNumber, , issuer] = fields;
  if (serialNumber === undefined || issuer === undefined) throw new RangeError('not a certificate');
  return { issuer: issuer.raw, serialNumber: serialNumber.raw };
}

/** Encodes SignedAttributes as hashed: SET OF, in DER order (RFC 5652 section 5.4). */
export const signedAttributes = (...attributes: Buffer[]): Buffer => setOf(...attributes);

export interface SignedDataParts {
  /** CMS version: 1, or 3 if the content is not plain data (RFC 5652 section 5.1). */
  readonly version: 1 | 3;
  readonly algorithm: FormatDigest;
  readonly scheme: SignatureScheme;
  /** The type of the key, if the scheme alone does not determine the algorithm. */
  readonly keyType?: KeyType;
  /** EncapsulatedContentInfo, DER. */
  readonly content: Buffer;
  /** The certificates in the container, leaf first. */
  readonly certificates: readonly Buffer[];
  /** Certificate that identifies the signer. */
  readonly signer: Buffer;
  /** The signed attributes as `signedAttributes` encodes them. */
  readonly attributes: Buffer;
  readonly signature: Buffer;
  readonly unsignedAttributes?: readonly Buffer[];
  /** Authenticode verifiers expect NULL parameters in the digest identifier. */
  readonly nullParameters?: boolean;
}

/** Returns a DER-encoded ContentInfo with SignedData by a single signer (RFC 5652 section 5). */
export function signedData(parts: SignedDataParts): Buffer {
  const { algorithm, certificates, unsignedAttributes: unsigned = [] } = parts;
  const digestIdentifier = sequence(oid(DIGEST_OID[algorithm]), ...(parts.nullParameters === true ? [nullValue] : []));
  const { issuer, serialNumber } = issuerAndSerialNumber(parts.signer);
  const attributes = Buffer.from(parts.attributes);
  attributes[0] = 0xa0;
  const signerInfo = sequence(
    integer(1),
    sequence(issuer, serialNumber),
    digestIdentifier,
    attributes,
    cmsSignatureIdentifier(parts.scheme, algorithm, parts.keyType),
    octetString(parts.signature),
    ...(unsigned.length > 0 ? [tagged(1, ...unsigned)] : []),
  );
  const body = sequence(
    integer(parts.version),
    setOf(digestIdentifier),
    parts.content,
    ...(certificates.length > 0 ? [tagged(0, ...certificates)] : []),
    setOf(signerInfo),
  );
  return sequence(oid(SIGNED_DATA), tagged(0, body));
}
