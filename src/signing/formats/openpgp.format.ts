import {
  openPgpFingerprintOf,
  keyBody,
  pgpAlgorithmOf,
  type PgpPublicKey,
  pgpSeconds,
} from '../../formats/openpgp/key-packet.js';
import { PGP_SUBPACKET } from '../../formats/openpgp/signatures.js';
import {
  type HashedPart,
  issuerFingerprintOf,
  PGP_SIGNATURE,
  readHashedPart,
  signaturePacket,
} from '../../formats/openpgp/signature-packet.js';
import type { KeyType } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { FORMAT_DIGESTS, type FormatDigest } from './algorithm-identifiers.js';
import { type FormatOrder, isRsa, type SignatureFormatWriter } from './signature-format.js';

/** Types of document signatures that callers can request. Self-signatures of a key are composed only by the service. */
export const OPENPGP_DOCUMENTS: readonly number[] = [PGP_SIGNATURE.binary, PGP_SIGNATURE.text];
const STATEMENTS: readonly number[] = [PGP_SIGNATURE.certification, PGP_SIGNATURE.keyRevocation];
/** Subpackets permitted in a document signature. */
const STATED: readonly number[] = [
  PGP_SUBPACKET.created,
  PGP_SUBPACKET.signatureExpiry,
  PGP_SUBPACKET.issuer,
  PGP_SUBPACKET.notation,
  PGP_SUBPACKET.policyUri,
  PGP_SUBPACKET.signersUserId,
  PGP_SUBPACKET.issuerFingerprint,
];
const MAX_CLOCK_SKEW_S = 300;
const MAX_HASHED_BYTES = 4096;

/**
 * A version 4 OpenPGP signature packet (RFC 9580 section 5.2.3), not armored. `content` is the hashed part, which the client composes. The digest covers the
 * document followed by the hashed part.
 */
export const openpgp: SignatureFormatWriter = {
  needsCertificate: false,
  schemes: (type) => (isRsa(type) ? ['rsa-pkcs1v15'] : ['ecdsa-raw']),
  toBeSigned(order, at) {
    const part = hashedPartOf(order);
    if (!(order.isStatement === true ? STATEMENTS : OPENPGP_DOCUMENTS).includes(part.type))
      throw refused('openpgp.type', 'is not a signature over a document (types 0x00 and 0x01)');
    if (order.isStatement !== true) assertDocument(part, order, at);
    return undefined;
  },
  beforeSigning: (order) => void hashedPartOf(order),
  assemble: ({ content = Buffer.alloc(0), digest }, _toBeSigned, { signature }) =>
    signaturePacket(content, { digest, signature }),
};

/** Returns the digests at least as long as the curve order (RFC 9580 section 5.2.3.2). */
export function digestsForOpenPgp(type: KeyType): readonly FormatDigest[] {
  if (type === 'ec-p384') return ['sha384', 'sha512'];
  return type === 'ec-p521' ? ['sha512'] : FORMAT_DIGESTS;
}

/** Parses the hashed part, which must be for a signature by this key with this digest algorithm. */
function hashedPartOf({ content, algorithm, madeAt, publicKey }: FormatOrder): HashedPart {
  const part = read(content);
  if (part.hash !== algorithm) throw refused('openpgp.hash', `names a hash algorithm other than ${algorithm}`);
  if (part.algorithm !== pgpAlgorithmOf(publicKey))
    throw refused('openpgp.other-key', 'names a different key algorithm');
  if (!namesKey(part, { publicKey, madeAt }))
    throw refused('openpgp.other-key', 'does not contain the fingerprint of the signing key version');
  return part;
}

/** OpenPgpStatements contains the statements in a hashed part, as shown to approvers. Times are in RFC 3339 format. */
export interface OpenPgpStatements {
  readonly type: string;
  readonly createdAt: string | null;
  readonly expiresAt: string | null;
  readonly userIds: readonly string[];
  /** `name=value`. */
  readonly notations: readonly string[];
  readonly policyUris: readonly string[];
}

/** Returns the statements in a hashed part. */
export function statementsIn(content: Buffer): OpenPgpStatements {
  const { type, subpackets } = readHashedPart(content);
  const valuesOf = (wanted: number) => subpackets.filter((one) => one.type === wanted).map(({ value }) => value);
  const secondsOf = (wanted: number) => valuesOf(wanted)[0]?.readUInt32BE(0);
  const created = secondsOf(PGP_SUBPACKET.created);
  // An expiry of 0 seconds means that the signature does not expire (RFC 9580 section 5.2.3.18).
  const validity = secondsOf(PGP_SUBPACKET.signatureExpiry) ?? 0;
  return {
    type: TYPE_NAMES.get(type) ?? `type ${type}`,
    createdAt: created === undefined ? null : momentOf(created),
    expiresAt: created === undefined || validity === 0 ? null : momentOf(created + validity),
    userIds: valuesOf(PGP_SUBPACKET.signersUserId).map(textIn),
    notations: valuesOf(PGP_SUBPACKET.notation).map(notationIn),
    policyUris: valuesOf(PGP_SUBPACKET.policyUri).map(textIn),
  };
}

const TYPE_NAMES = new Map<number, string>([
  [PGP_SIGNATURE.binary, 'document'],
  [PGP_SIGNATURE.text, 'text document'],
  [PGP_SIGNATURE.certification, 'certification of the key'],
  [PGP_SIGNATURE.keyRevocation, 'revocation of the key'],
]);

/** Reports whether the service composed this hashed part. Callers can only request signatures of documents. */
export function isOwnStatement(content: Buffer): boolean {
  return STATEMENTS.includes(readHashedPart(content).type);
}

function momentOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** Formats a notation: flags, length of the name, length of the value, name, value (RFC 9580 section 5.2.3.24). */
function notationIn(value: Buffer): string {
  const end = 8 + value.readUInt16BE(4);
  return `${textIn(value.subarray(8, end))}=${textIn(value.subarray(end))}`;
}

/** Decodes UTF-8. Returns hexadecimal if the bytes are invalid or contain control characters. */
function textIn(bytes: Buffer): string {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) && !/\p{Cc}/u.test(text) ? text : `0x${bytes.toString('hex')}`;
}

/** Reports whether a hashed part identifies this key by its fingerprint and algorithm. */
export function namesKey(part: HashedPart, key: PgpPublicKey): boolean {
  const isIssuer = issuerFingerprintOf(part)?.equals(openPgpFingerprintOf(keyBody(key))) === true;
  return isIssuer && part.algorithm === pgpAlgorithmOf(key.publicKey);
}

function read(content: Buffer | undefined): HashedPart {
  if (content === undefined || content.length > MAX_HASHED_BYTES)
    throw refused('content.unreadable', `must be the hashed part of a signature, at most ${MAX_HASHED_BYTES} bytes`);
  try {
    statementsIn(content);
    return readHashedPart(content);
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : 'it cannot be parsed';
    throw refused('content.unreadable', `is not the hashed part of an OpenPGP signature: ${reason}`, cause);
  }
}

function assertDocument({ subpackets }: HashedPart, { madeAt }: FormatOrder, now: Date): void {
  const other = subpackets.find(({ type }) => !STATED.includes(type));
  if (other !== undefined)
    throw refused(
      'openpgp.subpacket',
      `has a subpacket of type ${other.type}, which is not allowed in a document signature`,
    );
  const [created, ...more] = subpackets.filter(({ type }) => type === PGP_SUBPACKET.created);
  if (created?.value.length !== 4 || more.length > 0)
    throw refused('openpgp.time', 'must contain exactly one creation time');
  const at = created.value.readUInt32BE(0);
  if (at < pgpSeconds(madeAt) || at > pgpSeconds(now) + MAX_CLOCK_SKEW_S)
    throw refused('openpgp.time', 'has a creation time that is in the future or precedes the creation of the key');
}

function refused(code: string, detail: string, cause?: unknown): Problem {
  const pointer = '/content';
  return new Problem('malformed', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }], cause });
}
