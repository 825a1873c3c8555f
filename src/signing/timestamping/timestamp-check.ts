import { AsnConvert } from '@peculiar/asn1-schema';
import { ContentInfo, type SignerInfo, SignedData } from '@peculiar/asn1-cms';
import { PKIStatus, TimeStampResp, TSTInfo } from '@peculiar/asn1-tsp';
import { createHash, verify, type X509Certificate } from 'node:crypto';
import { certificateFactsOf, wholeCertificate } from '../../auth/credentials/certificates/certificate-facts.js';
import { DIGEST_OID, FORMAT_DIGESTS, type FormatDigest } from '../formats/algorithm-identifiers.js';
import { elementsInside, elementsOfSequence } from '../../formats/asn1/der-reader.js';
import { oid, sequence, setOf } from '../../formats/asn1/der-writer.js';
import { issuerAndSerialNumber } from '../formats/signed-data.js';
import { identifies, readSigningCertificate, SIGNING_CERTIFICATE } from '../formats/signing-certificate.js';

const CONTENT_TYPE = '1.2.840.113549.1.9.3';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';
const TST_INFO = '1.2.840.113549.1.9.16.1.4';
const RSA_PSS = '1.2.840.113549.1.1.10';
const GRANTED = [PKIStatus.granted, PKIStatus.grantedWithMods];
/** Maximum difference in milliseconds between the clock of an external authority and the local clock. */
const MAX_APART_MS = 60_000;
const MAX_CERTIFICATES = 8;
/**
 * Maximum number of signed attributes. Every attribute is encoded and hashed once for each certificate of the token, before the signature is known to be
 * valid.
 */
const MAX_ATTRIBUTES = 32;
const CERTIFICATES_AND_LISTS: readonly number[] = [0xa0, 0xa1];
const MAX_SIGNER_FIELDS = 7;

export interface Expected {
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
  /** Unsigned, big-endian. */
  readonly nonce: Buffer;
  /** Certificates trusted to issue certificates of timestamp authorities. */
  readonly roots: readonly X509Certificate[];
  readonly now: Date;
}

/** BadTimestamp means that a response or a token is not the expected timestamp. */
export class BadTimestamp extends Error {}

/**
 * Extracts the token from a TimeStampResp and verifies the complete token: imprint, nonce, time, the signature over the signed attributes, the purpose of the
 * certificate, and its path to a trusted certificate (RFC 3161 section 2.4.2). Throws BadTimestamp with the reason.
 */
export function checkedToken(response: Buffer, expected: Expected): Buffer {
  return believed(() => tokenIn(response, expected));
}

function tokenIn(response: Buffer, expected: Expected): Buffer {
  const { status, timeStampToken } = parse(response, TimeStampResp, 'the response is not a TimeStampResp');
  if (timeStampToken === undefined || !GRANTED.includes(status.status))
    throw new BadTimestamp(`it was rejected with status ${status.status}`);
  const token = Buffer.from(AsnConvert.serialize(timeStampToken));
  const { info, own, certificates } = readToken(timeStampToken);
  assertImprint(info, expected);
  assertAsked(info, expected);
  assertTrusted(own, certificates, expected);
  return token;
}

/**
 * Returns the time at which a token attests that a digest existed. The checks are the same as in `checkedToken`, except for the nonce and the current time,
 * which only a response to a query must match. Certificates must have been valid at the attested time. Throws BadTimestamp with the reason.
 */
export function timeOfToken(token: Buffer, expected: Pick<Expected, 'digest' | 'algorithm' | 'roots'>): Date {
  return believed(() => {
    assertNothingElse(token);
    const { info, own, certificates } = readToken(parse(token, ContentInfo, 'the token is not a ContentInfo'));
    assertImprint(info, expected);
    assertTrusted(own, certificates, { roots: expected.roots, now: info.genTime });
    return info.genTime;
  });
}

/** Converts parse errors of certificates, keys and numbers to BadTimestamp. The errors are thrown where the values are first used. */
function believed<Result>(check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof BadTimestamp) throw error;
    throw new BadTimestamp(error instanceof Error ? `it cannot be parsed: ${error.message}` : 'it cannot be parsed');
  }
}

/** Asserts that the token contains only elements that RFC 5652 defines. The parser ignores other elements, which a sender could use to add arbitrary bytes. */
function assertNothingElse(token: Buffer): void {
  const [, explicit, ...rest] = elementsOfSequence(token);
  const [signed, ...beside] = elementsInside(explicit);
  const [, , , ...optional] = elementsInside(signed);
  const [signers, ...behind] = optional.filter(({ tag }) => !CERTIFICATES_AND_LISTS.includes(tag));
  const [signer] = elementsInside(signers);
  const fields = elementsInside(signer);
  if ([rest, beside, behind].some(({ length }) => length > 0) || fields.length > MAX_SIGNER_FIELDS)
    throw new BadTimestamp('the token has elements that TimeStampToken does not allow');
}

interface ReadToken {
  readonly info: TSTInfo;
  /** The certificate that verifies the signature. It must be restricted to timestamping. */
  readonly own: X509Certificate;
  readonly certificates: readonly X509Certificate[];
}

function readToken(token: ContentInfo): ReadToken {
  const signed = parse(Buffer.from(token.content), SignedData, 'the token is not a SignedData');
  const content = signed.encapContentInfo.eContent?.single?.buffer;
  if (signed.encapContentInfo.eContentType !== TST_INFO || content === undefined)
    throw new BadTimestamp('the token contains no TSTInfo');
  const info = Buffer.from(content);
  const [signer, ...more] = [...signed.signerInfos];
  if (signer === undefined || more.length > 0) throw new BadTimestamp('the token does not have exactly one signer');
  if ((signer.signedAttrs?.length ?? 0) > MAX_ATTRIBUTES)
    throw new BadTimestamp(`the token has more than ${MAX_ATTRIBUTES} signed attributes`);
  const certificates = certificatesOf(signed);
  const own = certificates.find((certificate) => signs(certificate, signer, info));
  if (own === undefined) throw new BadTimestamp('no certificate in the token verifies its signature');
  assertNamed(own, signer);
  assertPurpose(own);
  return { info: parse(info, TSTInfo, 'the TSTInfo cannot be parsed'), own, certificates };
}

function assertImprint(info: TSTInfo, { digest, algorithm }: Pick<Expected, 'digest' | 'algorithm'>): void {
  const { hashAlgorithm, hashedMessage } = info.messageImprint;
  if (hashAlgorithm.algorithm !== DIGEST_OID[algorithm] || !Buffer.from(hashedMessage.buffer).equals(digest))
    throw new BadTimestamp('the imprint differs from the one in the request');
}

function assertAsked(info: TSTInfo, { nonce, now }: Expected): void {
  if (
    info.nonce === undefined ||
    BigInt(`0x${Buffer.from(info.nonce).toString('hex')}`) !== BigInt(`0x${nonce.toString('hex')}`)
  )
    throw new BadTimestamp('the nonce differs from the one in the request');
  if (Math.abs(info.genTime.getTime() - now.getTime()) > MAX_APART_MS)
    throw new BadTimestamp(`its time differs too much from the clock: ${info.genTime.toISOString()}`);
}

function certificatesOf({ certificates }: SignedData): X509Certificate[] {
  return [...(certificates ?? [])].slice(0, MAX_CERTIFICATES).flatMap(({ certificate }) => {
    if (certificate === undefined) return [];
    return [wholeCertificate(Buffer.from(AsnConvert.serialize(certificate)))];
  });
}

function signs(certificate: X509Certificate, signer: SignerInfo, info: Buffer): boolean {
  const algorithm = FORMAT_DIGESTS.find((name) => DIGEST_OID[name] === signer.digestAlgorithm.algorithm);
  const signed = signer.signedAttrs;
  if (algorithm === undefined || signed === undefined || signer.signatureAlgorithm.algorithm === RSA_PSS) return false;
  const value = (type: string) =>
    Buffer.from(signed.find(({ attrType }) => attrType === type)?.attrValues[0] ?? new ArrayBuffer(0));
  const digest = createHash(algorithm).update(info).digest();
  if (!value(MESSAGE_DIGEST).subarray(2).equals(digest) || !value(CONTENT_TYPE).equals(oid(TST_INFO))) return false;
  // The signature covers the DER encoding of the attributes, regardless of the order in which they arrived (RFC 5652 section 5.4).
  const attributes = setOf(...signed.map((one) => Buffer.from(AsnConvert.serialize(one))));
  return verify(algorithm, attributes, certificate.publicKey, Buffer.from(signer.signature.buffer));
}

/**
 * Asserts that the token identifies this certificate as the signer's certificate, in its signer identifier and in the signing-certificate attribute, which
 * every token must have (RFC 3161 section 2.4.1, RFC 5816). This is required because the certificates in the token are not signed.
 */
function assertNamed({ raw }: X509Certificate, { sid, signedAttrs = [] }: SignerInfo): void {
  const { issuer, serialNumber } = issuerAndSerialNumber(raw);
  const named = sid.issuerAndSerialNumber;
  if (named !== undefined && !Buffer.from(AsnConvert.serialize(named)).equals(sequence(issuer, serialNumber)))
    throw new BadTimestamp(
      'its signer identifier names a different certificate than the one that verifies its signature',
    );
  const ids = (['v1', 'v2'] as const).flatMap((version) =>
    signedAttrs
      .filter(({ attrType }) => attrType === SIGNING_CERTIFICATE[version])
      .flatMap(({ attrValues }) => attrValues.map((value) => readSigningCertificate(version, Buffer.from(value)))),
  );
  if (ids.length === 0) throw new BadTimestamp('it has no signing-certificate attribute (RFC 3161 section 2.4.1)');
  if (!ids.every(([own]) => own !== undefined && identifies(own, raw)))
    throw new BadTimestamp('its signing-certificate attribute names a different certificate');
}

function assertPurpose(certificate: X509Certificate): void {
  const { purposes, purposesCritical } = certificateFactsOf(certificate);
  if (purposes.length !== 1 || purposes[0] !== 'time-stamping' || !purposesCritical)
    throw new BadTimestamp('its certificate is not restricted to time stamping');
}

/** Asserts a path of valid certificates from the authority's certificate to a trusted root. */
function assertTrusted(
  own: X509Certificate,
  others: readonly X509Certificate[],
  { roots, now }: Pick<Expected, 'roots' | 'now'>,
): void {
  let last = own;
  for (let length = 0; length < MAX_CERTIFICATES; length += 1) {
    assertInDate(last, now);
    const issued = (issuer: X509Certificate) => last.checkIssued(issuer) && last.verify(issuer.publicKey);
    const root = roots.find((one) => one.raw.equals(last.raw) || issued(one));
    if (root !== undefined) return assertInDate(root, now);
    const issuer = others.find((one) => !one.raw.equals(last.raw) && one.ca && issued(one));
    if (issuer === undefined) break;
    last = issuer;
  }
  throw new BadTimestamp('its certificate does not chain to a trusted root');
}

function assertInDate(certificate: X509Certificate, now: Date): void {
  if (new Date(certificate.validTo) <= now || new Date(certificate.validFrom) > now)
    throw new BadTimestamp(`a certificate is valid only from ${certificate.validFrom} to ${certificate.validTo}`);
}

function parse<T>(bytes: Buffer, syntax: new () => T, otherwise: string): T {
  try {
    return AsnConvert.parse(bytes, syntax);
  } catch {
    throw new BadTimestamp(otherwise);
  }
}
