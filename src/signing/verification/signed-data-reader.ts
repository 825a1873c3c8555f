import { createHash, type X509Certificate } from 'node:crypto';
import { ML_DSA_TYPES, type SignatureScheme } from '../../hsm/key-vault.js';
import {
  cmsSignatureIdentifier,
  DIGEST_OID,
  FORMAT_DIGESTS,
  type FormatDigest,
} from '../formats/algorithm-identifiers.js';
import { RFC3161_TIMESTAMP, readExtractedData } from '../formats/authenticode.format.js';
import { MAX_CHAIN_CERTIFICATES } from '../certificates/certificate-chain.js';
import { wholeCertificate } from '../../auth/credentials/certificates/certificate-facts.js';
import { integer, nullValue, oid, sequence } from '../../formats/asn1/der-writer.js';
import { DER, type DerElement, derElements } from '../../formats/asn1/der-reader.js';
import { issuerAndSerialNumber, TIMESTAMP_TOKEN } from '../formats/signed-data.js';
import { type CertificateId, readSigningCertificate, SIGNING_CERTIFICATE } from '../formats/signing-certificate.js';
import { BadSignature, type SignatureClaim, type SignatureReader } from './signature-readers.js';

const DATA = oid('1.2.840.113549.1.7.1');
const SIGNED_DATA = oid('1.2.840.113549.1.7.2');
const CONTENT_TYPE = '1.2.840.113549.1.9.3';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';
const CMS_SCHEMES: readonly SignatureScheme[] = ['rsa-pkcs1v15', 'rsa-pss', 'ecdsa-der'];
/** Versions for a signer that is identified by issuer and serial number (RFC 5652 sections 5.1 and 5.3). */
const SIGNED_DATA_VERSIONS = [integer(1), integer(3)];
const SIGNER_VERSIONS = [integer(1)];
const SET = 0x31;
const CONTEXT_0 = 0xa0;
const CONTEXT_1 = 0xa1;

/** A parsed SignedData with one signer (RFC 5652 section 5), not verified yet. */
interface TakenApart extends SignatureClaim {
  /** EncapsulatedContentInfo: the content, if it is included. */
  readonly content: DerElement | undefined;
  /** eContentType, DER. */
  readonly contentType: Buffer;
  /** The messageDigest attribute. */
  readonly messageDigest: Buffer;
}

/** Parses detached CMS: the messageDigest attribute is the file's digest. */
export const readCms: SignatureReader = ({ digest, algorithm, signature }) => {
  const { content, contentType, messageDigest, ...claim } = takeApart(signature, TIMESTAMP_TOKEN);
  if (!contentType.equals(DATA))
    throw new BadSignature('its content type is not id-data, so it is not a file signature');
  if (content !== undefined) throw new BadSignature('the CMS is not detached');
  if (claim.algorithm !== algorithm || !messageDigest.equals(digest))
    throw new BadSignature('its messageDigest is for a different file');
  return claim;
};

/** Parses Authenticode: the content contains the file's hash, and the messageDigest is the hash of the content. */
export const readAuthenticode: SignatureReader = ({ digest, algorithm, signature }) => {
  const { content, contentType: _type, messageDigest, ...claim } = takeApart(signature, RFC3161_TIMESTAMP);
  if (content === undefined) throw new BadSignature('it has no SpcIndirectDataContent');
  const extracted = readExtractedData(content.raw);
  if (extracted.algorithm !== algorithm || !extracted.digest.equals(digest))
    throw new BadSignature('its content is for a different file');
  if (!messageDigest.equals(createHash(claim.algorithm).update(content.contents).digest()))
    throw new BadSignature('its messageDigest does not match its content');
  return claim;
};

/**
 * Parses SignedData. Most of a CMS is not signed, so elements that this service does not write are rejected: a sender could use such elements to add arbitrary
 * bytes, and other verifiers might interpret these bytes.
 */
function takeApart(file: Buffer, tokenAttribute: string): TakenApart {
  const [type, explicit, ...rest] = derElements(tagged(only(file), DER.sequence).contents);
  if (type?.raw.equals(SIGNED_DATA) !== true) throw new BadSignature('it is not a CMS SignedData');
  assertNone(rest);
  const { digests, encapsulated, certificates, signers } = fieldsOf(tagged(explicit, CONTEXT_0));
  const [contentType, explicitContent, ...beside] = derElements(encapsulated.contents);
  assertNone(beside);
  const [signer, ...more] = derElements(signers.contents);
  if (signer === undefined || more.length > 0) throw new BadSignature('it does not have exactly one signer');
  const content = explicitContent === undefined ? undefined : only(tagged(explicitContent, CONTEXT_0).contents);
  const context = { certificates, contentType: required(contentType), tokenAttribute };
  const read = readSigner(tagged(signer, DER.sequence), context);
  if (digestNamed(only(digests.contents)) !== read.algorithm)
    throw new BadSignature('its digest algorithm differs from the digest algorithm of its signer');
  return { ...read, content, contentType: context.contentType.raw };
}

/** Returns the fields of SignedData (RFC 5652 section 5.1), without revocation lists. */
function fieldsOf(explicit: DerElement) {
  const fields = derElements(tagged(only(explicit.contents), DER.sequence).contents);
  const [version, digests, encapsulated, ...rest] = fields;
  const certificates = rest[0]?.tag === CONTEXT_0 ? rest.shift() : undefined;
  const [signers, ...more] = rest;
  assertNone(more);
  assertVersion(version, SIGNED_DATA_VERSIONS);
  return {
    digests: tagged(digests, SET),
    encapsulated: tagged(encapsulated, DER.sequence),
    certificates: derElements(certificates?.contents ?? Buffer.alloc(0)),
    signers: tagged(signers, SET),
  };
}

interface SignerContext {
  readonly certificates: DerElement[];
  /** eContentType, which the content-type attribute must repeat (RFC 5652 section 11.1). */
  readonly contentType: DerElement;
  readonly tokenAttribute: string;
}

function readSigner(
  signer: DerElement,
  { certificates, contentType, tokenAttribute }: SignerContext,
): Omit<TakenApart, 'content' | 'contentType'> {
  const [version, issuerAndSerial, digestId, attributes, signatureId, value, unsigned, ...more] = derElements(
    signer.contents,
  );
  assertNone(more);
  assertVersion(version, SIGNER_VERSIONS);
  if (attributes?.tag !== CONTEXT_0) throw new BadSignature('it has no signed attributes');
  const algorithm = digestNamed(required(digestId));
  const scheme = schemeNamed(required(signatureId), algorithm);
  // The hash covers the SET OF, not the tag under which the attributes are sent (RFC 5652 section 5.4).
  const signed = Buffer.from(attributes.raw);
  signed[0] = SET;
  const messageDigest = attributeOf(attributes, MESSAGE_DIGEST);
  if (messageDigest === undefined) throw new BadSignature('it has no messageDigest');
  const ordered = inOrder(certificates, required(issuerAndSerial));
  if (attributeOf(attributes, CONTENT_TYPE)?.raw.equals(contentType.raw) !== true)
    throw new BadSignature('its content type differs from the signed content type');
  return {
    scheme,
    algorithm,
    signedDigest: createHash(algorithm).update(signed).digest(),
    message: signed,
    signature: tagged(value, DER.octetString).contents,
    certificates: ordered,
    certificateIds: certificateIdsIn(attributes),
    messageDigest: messageDigest.contents,
    timestampToken: unsigned === undefined ? undefined : onlyAttribute(tagged(unsigned, CONTEXT_1), tokenAttribute).raw,
  };
}

/** Returns the certificate IDs in the signing-certificate attributes of both versions. */
function certificateIdsIn(attributes: DerElement): CertificateId[][] {
  return (['v1', 'v2'] as const).flatMap((version) => {
    const type = SIGNING_CERTIFICATE[version];
    const value = attributeOf(attributes, type);
    return value === undefined ? [] : [readSigningCertificate(version, value.raw)];
  });
}

/** Returns the certificates, starting with the signer's certificate. */
function inOrder(certificates: DerElement[], issuerAndSerial: DerElement): X509Certificate[] {
  const names = (one: DerElement): boolean => {
    const { issuer, serialNumber } = issuerAndSerialNumber(one.raw);
    return sequence(issuer, serialNumber).equals(issuerAndSerial.raw);
  };
  // The sender of a file determines how many paths are tried, so the number is limited.
  if (certificates.length > MAX_CHAIN_CERTIFICATES)
    throw new BadSignature(`it has more than ${MAX_CHAIN_CERTIFICATES} certificates`);
  const own = certificates.find(names);
  if (own === undefined) throw new BadSignature("its signer's certificate is missing");
  return [own, ...certificates.filter((one) => one !== own)].map(({ raw }) => wholeCertificate(raw));
}

/** Returns the digest algorithm of an AlgorithmIdentifier, whose parameters are absent or NULL (RFC 5754 section 2). */
function digestNamed({ raw }: DerElement): FormatDigest {
  const isNamed = (name: FormatDigest) =>
    [[], [nullValue]].some((parameters) => raw.equals(sequence(oid(DIGEST_OID[name]), ...parameters)));
  const algorithm = FORMAT_DIGESTS.find(isNamed);
  if (algorithm === undefined) throw new BadSignature('its digest algorithm is not supported');
  return algorithm;
}

function schemeNamed({ raw }: DerElement, algorithm: FormatDigest): SignatureScheme {
  if (ML_DSA_TYPES.some((type) => cmsSignatureIdentifier('ml-dsa', algorithm, type).equals(raw))) return 'ml-dsa';
  const scheme = CMS_SCHEMES.find((one) => cmsSignatureIdentifier(one, algorithm).equals(raw));
  if (scheme === undefined) throw new BadSignature('its signature algorithm is not supported');
  return scheme;
}

/**
 * Returns the value of an attribute, or undefined if the attribute is absent. An attribute that occurs twice or has several values makes the signature
 * malformed.
 */
function attributeOf(attributes: DerElement, type: string): DerElement | undefined {
  const all = derElements(attributes.contents).map(({ contents }) => derElements(contents));
  const [found, ...others] = all.filter(([name]) => name?.raw.equals(oid(type)));
  if (found === undefined) return undefined;
  const [, values, ...more] = found;
  const [value, ...further] = derElements(tagged(values, SET).contents);
  if (value === undefined || [others, more, further].some(({ length }) => length > 0))
    throw new BadSignature(`it must contain the ${type} attribute exactly once, with one value`);
  return value;
}

/** Returns the value of the timestamp attribute, which is the only unsigned attribute of a signature by this service. */
function onlyAttribute(attributes: DerElement, type: string): DerElement {
  const [attribute, ...more] = derElements(attributes.contents);
  const value = attributeOf(attributes, type);
  assertNone(more);
  tagged(attribute, DER.sequence);
  if (value === undefined) throw new BadSignature('it has an unsigned attribute that this service never adds');
  return tagged(value, DER.sequence);
}

/** Asserts that the version has one of these encodings, because OpenSSL rejects an INTEGER that is empty or has unnecessary octets. */
function assertVersion(version: DerElement | undefined, versions: readonly Buffer[]): void {
  const { raw } = required(version);
  if (!versions.some((one) => one.equals(raw))) throw new BadSignature('its version is not one that RFC 5652 allows');
}

function assertNone([element]: DerElement[]): void {
  if (element !== undefined) throw new BadSignature('it contains an unexpected element');
}

function tagged(element: DerElement | undefined, tag: number): DerElement {
  if (required(element).tag !== tag) throw new BadSignature('an element has a tag that RFC 5652 does not allow');
  return required(element);
}

function only(bytes: Buffer): DerElement {
  const [element, ...more] = derElements(bytes);
  if (element === undefined || more.length > 0) throw new BadSignature('it is not a single DER element');
  return element;
}

function required(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new BadSignature('an element is missing');
  return element;
}
