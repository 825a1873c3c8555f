import { createHash } from 'node:crypto';
import type { SignatureScheme } from '../../hsm/key-vault.js';
import { DIGEST_OID, type FormatDigest } from '../formats/algorithm-identifiers.js';
import {
  element,
  generalizedTime,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  tagged,
  utf8String,
} from '../../formats/asn1/der-writer.js';
import { contentType, messageDigest, signedAttributes, signedData } from '../formats/signed-data.js';
import { signingCertificate } from '../formats/signing-certificate.js';
import { FAILURE_BITS, type TimestampRefusal, type TimestampQuery } from './timestamp-query.js';

const TST_INFO = '1.2.840.113549.1.9.16.1.4';
const BIT_STRING = 0x03;
const GRANTED = 0;
const REJECTION = 2;

export interface TimestampStatement extends Pick<TimestampQuery, 'imprint' | 'nonce'> {
  /** Object identifier in dotted form. */
  readonly policy: string;
  /** Up to 20 bytes, positive. */
  readonly serialNumber: Buffer;
  readonly at: Date;
  readonly accuracySeconds: number;
}

export interface Stamper {
  readonly scheme: SignatureScheme;
  readonly algorithm: FormatDigest;
  /** DER, starting with the authority's certificate. */
  readonly chain: readonly Buffer[];
}

/** Returns the TSTInfo (RFC 3161 section 2.4.2). The time is truncated to whole seconds, which every verifier supports. The accuracy covers the difference. */
export function timestampInfo(statement: TimestampStatement): Buffer {
  return sequence(
    integer(1),
    oid(statement.policy),
    statement.imprint,
    integer(statement.serialNumber),
    generalizedTime(statement.at),
    sequence(integer(statement.accuracySeconds)),
    ...(statement.nonce === undefined ? [] : [statement.nonce]),
  );
}

/** Returns the signed attributes of a token, whose hash the HSM signs. signingCertificateV2 is mandatory (RFC 5816). */
export function timestampAttributes(info: Buffer, { algorithm, chain: [own = Buffer.alloc(0)] }: Stamper): Buffer {
  const digest = createHash(algorithm).update(info).digest();
  return signedAttributes(contentType(TST_INFO), messageDigest(digest), certificateAttribute(own));
}

/** Returns the TimeStampToken in DER, with certificates only if the query requests them. */
export function timestampToken(
  info: Buffer,
  attributes: Buffer,
  signature: Buffer,
  { stamper, certificates }: { stamper: Stamper; certificates: boolean },
): Buffer {
  const { scheme, algorithm, chain } = stamper;
  return signedData({
    version: 3,
    algorithm,
    scheme,
    content: sequence(oid(TST_INFO), tagged(0, octetString(info))),
    certificates: certificates ? chain : [],
    signer: chain[0] ?? Buffer.alloc(0),
    attributes,
    signature,
  });
}

/** Returns the MessageImprint of a hash value computed by the service. */
export function messageImprint(algorithm: FormatDigest, digest: Buffer): Buffer {
  return sequence(sequence(oid(DIGEST_OID[algorithm]), nullValue), octetString(digest));
}

/** Returns a DER-encoded TimeStampResp that contains a token. */
export function granted(token: Buffer): Buffer {
  return sequence(sequence(integer(GRANTED)), token);
}

/** Returns a DER-encoded TimeStampResp with the reason for the rejection. */
export function rejected({ failure, message }: TimestampRefusal): Buffer {
  const bit = FAILURE_BITS[failure];
  // A BIT STRING of named bits ends with its last 1 (X.690 section 11.2.2).
  const octets = Buffer.alloc(Math.floor(bit / 8) + 1);
  octets.writeUInt8(0x80 >> (bit % 8), octets.length - 1);
  const failInfo = element(BIT_STRING, Buffer.from([7 - (bit % 8)]), octets);
  return sequence(sequence(integer(REJECTION), sequence(utf8String(message)), failInfo));
}

const attributes = new WeakMap<Buffer, Buffer>();

/** Returns the signing-certificate attribute, which is the same for all tokens with the same certificate. */
function certificateAttribute(certificate: Buffer): Buffer {
  const known = attributes.get(certificate);
  if (known !== undefined) return known;
  const made = signingCertificate(certificate);
  attributes.set(certificate, made);
  return made;
}
