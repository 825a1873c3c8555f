import { DIGEST_OID, FORMAT_DIGESTS, type FormatDigest } from '../formats/algorithm-identifiers.js';
import { oid } from '../../platform/asn1/der.js';
import { type Element, elementsIn } from '../../platform/asn1/der-reader.js';
import { TimestampRefusal } from './timestamp-refusal.js';

/** What a client wants stamped (TimeStampReq, RFC 3161 section 2.4.1). */
export interface TimestampQuery {
  /** MessageImprint, DER, as it came: the token repeats it. */
  readonly imprint: Buffer;
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
  /** Dotted. */
  readonly policy?: Buffer;
  /** INTEGER, DER, as it came. */
  readonly nonce?: Buffer;
  /** The certificate of the authority shall come along. */
  readonly certificates: boolean;
}

const DIGEST_BYTES: Record<FormatDigest, number> = { sha256: 32, sha384: 48, sha512: 64 };
const MOST_NONCE_BYTES = 128;
const TAG = { boolean: 0x01, integer: 0x02, octetString: 0x04, oid: 0x06, sequence: 0x30, extensions: 0xa0 };

/** Throws TimestampRefusal: badDataFormat, badRequest, badAlg, unacceptedExtension. */
export function readQuery(bytes: Buffer): TimestampQuery {
  const [version, imprint, ...optional] = fieldsOf(bytes);
  if (version?.tag !== TAG.integer || imprint?.tag !== TAG.sequence)
    throw new TimestampRefusal('badDataFormat', 'This is not a TimeStampReq.');
  if (!version.contents.equals(Buffer.from([1])))
    throw new TimestampRefusal('badRequest', 'Only version 1 of TimeStampReq is known.');
  const taken = takeOptional(optional);
  if (taken.extensions !== undefined)
    throw new TimestampRefusal('unacceptedExtension', 'Extensions are not supported.');
  if ((taken.nonce?.contents.length ?? 0) > MOST_NONCE_BYTES)
    throw new TimestampRefusal('badRequest', `The nonce is longer than ${MOST_NONCE_BYTES} bytes.`);
  return {
    ...readImprint(imprint),
    imprint: imprint.raw,
    policy: taken.policy?.raw,
    nonce: taken.nonce?.raw,
    certificates: taken.certReq !== undefined && taken.certReq.contents[0] !== 0,
  };
}

function fieldsOf(bytes: Buffer): Element[] {
  const [outer, ...more] = readElements(bytes);
  if (outer?.tag !== TAG.sequence || more.length > 0)
    throw new TimestampRefusal('badDataFormat', 'This is not a TimeStampReq.');
  return readElements(outer.contents);
}

/** The optional fields come in one order, each at most once. */
function takeOptional(fields: Element[]) {
  const rest = [...fields];
  const take = (tag: number) => (rest[0]?.tag === tag ? rest.shift() : undefined);
  const taken = {
    policy: take(TAG.oid),
    nonce: take(TAG.integer),
    certReq: take(TAG.boolean),
    extensions: take(TAG.extensions),
  };
  if (rest.length > 0) throw new TimestampRefusal('badDataFormat', 'The fields of the TimeStampReq are out of order.');
  return taken;
}

function readImprint(imprint: Element): { digest: Buffer; algorithm: FormatDigest } {
  const [identifier, hash, ...more] = readElements(imprint.contents);
  if (identifier?.tag !== TAG.sequence || hash?.tag !== TAG.octetString || more.length > 0)
    throw new TimestampRefusal('badDataFormat', 'The messageImprint cannot be read.');
  const [id] = readElements(identifier.contents);
  const algorithm = FORMAT_DIGESTS.find((name) => id?.raw.equals(oid(DIGEST_OID[name])));
  if (algorithm === undefined)
    throw new TimestampRefusal('badAlg', `The imprint must be by ${FORMAT_DIGESTS.join(', ')}.`);
  if (hash.contents.length !== DIGEST_BYTES[algorithm])
    throw new TimestampRefusal('badDataFormat', 'The imprint does not have the length of its algorithm.');
  return { algorithm, digest: hash.contents };
}

function readElements(bytes: Buffer): Element[] {
  try {
    return elementsIn(bytes);
  } catch {
    throw new TimestampRefusal('badDataFormat', 'This is not DER.');
  }
}
