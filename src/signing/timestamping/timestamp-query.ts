import { DIGEST_OID, FORMAT_DIGESTS, type FormatDigest } from '../formats/algorithm-identifiers.js';
import { element, nullValue, octetString, oid, sequence } from '../../formats/asn1/der-writer.js';
import { type DerElement, derElements } from '../../formats/asn1/der-reader.js';

/** Bits of PKIFailureInfo that a timestamp authority uses (RFC 3161 section 2.4.2). */
export const FAILURE_BITS = {
  badAlg: 0,
  badRequest: 2,
  badDataFormat: 5,
  timeNotAvailable: 14,
  unacceptedPolicy: 15,
  unacceptedExtension: 16,
  systemFailure: 25,
} as const;
export type FailureInfo = keyof typeof FAILURE_BITS;

/** A rejected query. The client gets the PKIStatus rejection, with HTTP 200. */
export class TimestampRefusal extends Error {
  constructor(
    readonly failure: FailureInfo,
    message: string,
  ) {
    super(message);
    this.name = 'TimestampRefusal';
  }
}

/** A query for a timestamp (TimeStampReq, RFC 3161 section 2.4.1). */
export interface TimestampQuery {
  /** DER-encoded MessageImprint for the token, rebuilt from the query. */
  readonly imprint: Buffer;
  readonly digest: Buffer;
  readonly algorithm: FormatDigest;
  /** OBJECT IDENTIFIER of the requested policy, DER. */
  readonly policy?: Buffer;
  /** Nonce of the query as an INTEGER, re-encoded in DER because clients that fill the nonce with random bytes do not always send DER. */
  readonly nonce?: Buffer;
  /** Whether the response must include the authority's certificate. */
  readonly certificates: boolean;
}

const DIGEST_BYTES: Record<FormatDigest, number> = { sha256: 32, sha384: 48, sha512: 64 };
const MAX_NONCE_BYTES = 128;
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
  extensions: 0xa0,
};

/**
 * Parses a TimeStampReq. Accepts BER where the standard requires DER (X.690), because many clients send BER. Returns only DER, because the result becomes
 * part of the signed structure. Throws TimestampRefusal badDataFormat, badRequest, badAlg or unacceptedExtension.
 */
export function readQuery(bytes: Buffer): TimestampQuery {
  const [version, imprint, ...optional] = fieldsOf(bytes);
  if (version?.tag !== TAG.integer || imprint?.tag !== TAG.sequence)
    throw new TimestampRefusal('badDataFormat', 'The request is not a TimeStampReq.');
  if (!leastOctets(version).equals(Buffer.from([1])))
    throw new TimestampRefusal('badRequest', 'Only version 1 of TimeStampReq is supported.');
  const taken = takeOptional(optional);
  if (taken.extensions !== undefined)
    throw new TimestampRefusal('unacceptedExtension', 'Extensions are not supported.');
  if ((taken.nonce?.contents.length ?? 0) > MAX_NONCE_BYTES)
    throw new TimestampRefusal('badRequest', `The nonce is longer than ${MAX_NONCE_BYTES} bytes.`);
  if (taken.certReq !== undefined && taken.certReq.contents.length !== 1)
    throw new TimestampRefusal('badDataFormat', 'certReq must be a BOOLEAN of one octet.');
  return {
    ...readImprint(imprint),
    policy: taken.policy?.raw,
    nonce: taken.nonce === undefined ? undefined : element(TAG.integer, leastOctets(taken.nonce)),
    certificates: taken.certReq !== undefined && taken.certReq.contents[0] !== 0,
  };
}

/** Returns the minimal octets of an INTEGER (X.690 section 8.3.2), as DER requires. */
function leastOctets({ contents }: DerElement): Buffer {
  if (contents.length === 0) throw new TimestampRefusal('badDataFormat', 'An INTEGER has no content octets.');
  let start = 0;
  while (start < contents.length - 1 && isIdle(contents[start], contents[start + 1])) start += 1;
  return contents.subarray(start);
}

/** Reports whether an octet only repeats the sign bit of the next octet. */
function isIdle(octet = 0, next = 0): boolean {
  return octet === (next < 0x80 ? 0 : 0xff);
}

function fieldsOf(bytes: Buffer): DerElement[] {
  const [outer, ...more] = readElements(bytes);
  if (outer?.tag !== TAG.sequence || more.length > 0)
    throw new TimestampRefusal('badDataFormat', 'The request is not a single TimeStampReq.');
  return readElements(outer.contents);
}

/** Returns the optional fields, which have a fixed order and occur at most once. */
function takeOptional(fields: DerElement[]) {
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

function readImprint(imprint: DerElement): Pick<TimestampQuery, 'digest' | 'algorithm' | 'imprint'> {
  const [identifier, hash, ...more] = readElements(imprint.contents);
  if (identifier?.tag !== TAG.sequence || hash?.tag !== TAG.octetString || more.length > 0)
    throw new TimestampRefusal('badDataFormat', 'The messageImprint cannot be parsed.');
  const [id, ...parameters] = readElements(identifier.contents);
  const algorithm = FORMAT_DIGESTS.find((name) => id?.raw.equals(oid(DIGEST_OID[name])));
  if (algorithm === undefined)
    throw new TimestampRefusal('badAlg', `The imprint must use one of ${FORMAT_DIGESTS.join(', ')}.`);
  if (hash.contents.length !== DIGEST_BYTES[algorithm])
    throw new TimestampRefusal('badDataFormat', 'The length of the imprint does not match its hash algorithm.');
  assertNoParameters(parameters);
  const name = sequence(oid(DIGEST_OID[algorithm]), ...parameters.map(() => nullValue));
  return { algorithm, digest: hash.contents, imprint: sequence(name, octetString(hash.contents)) };
}

/** Asserts that the hash algorithm has no parameters, which are encoded as NULL or omitted (RFC 5754 section 2). The token uses the encoding of the query. */
function assertNoParameters(parameters: readonly DerElement[]): void {
  const [first, ...more] = parameters;
  if (more.length > 0) throw new TimestampRefusal('badDataFormat', 'The hash algorithm has more than one parameter.');
  if (first === undefined || (first.tag === TAG.null && first.contents.length === 0)) return;
  throw new TimestampRefusal('badAlg', 'The hash algorithm must not have a parameter.');
}

function readElements(bytes: Buffer): DerElement[] {
  try {
    return derElements(bytes);
  } catch {
    const isOld = bytes.length > 16 && /^[A-Za-z0-9+/=\s]+$/.test(bytes.toString('latin1'));
    const detail = isOld
      ? 'This is the Authenticode timestamp protocol that preceded RFC 3161 (signtool /t). Use RFC 3161 (/tr).'
      : 'The request is not DER.';
    throw new TimestampRefusal('badDataFormat', detail);
  }
}
