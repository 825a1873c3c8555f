import { createHash, type X509Certificate } from 'node:crypto';
import { FORMAT_DIGESTS } from '../formats/algorithm-identifiers.js';
import { fromBase64, fromBase64Url } from '../../formats/encoding/base64.js';
import { preAuthEncoding, SIGSTORE_BUNDLE } from '../../formats/encoding/dsse.js';
import { elementsInside, elementsOfSequence } from '../../formats/asn1/der-reader.js';
import { integer, sequence } from '../../formats/asn1/der-writer.js';
import { type HashedPart, readHashedPart, readSignaturePacket } from '../../formats/openpgp/signature-packet.js';
import type { DigestAlgorithm, SignatureScheme } from '../../hsm/key-vault.js';
import { wholeCertificate } from '../../auth/credentials/certificates/certificate-facts.js';
import { MAX_CHAIN_CERTIFICATES } from '../certificates/certificate-chain.js';
import { OPENPGP_DOCUMENTS } from '../formats/openpgp.format.js';
import type { CertificateId } from '../formats/signing-certificate.js';
import { JsonRefused, readJsonObject } from '../../platform/json/strict-json.js';

/** BadSignature means that the bytes are not a signature in the expected format. The message is shown to the caller. */
export class BadSignature extends Error {}

/** A file and its signature, as sent by the caller for verification. */
export interface FileToVerify {
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  /** Scheme for formats that do not contain a scheme, such as raw. */
  readonly scheme: SignatureScheme;
  /** The raw signature, or the file that contains it, as returned by the service. */
  readonly signature: Buffer;
  /** ML-DSA structures composed by the service only: the bytes that were signed instead of the digest. */
  readonly message?: Buffer;
  /** OpenPGP only, if a request is known: the hashed part that the key signed. */
  readonly hashedPart?: Buffer;
}

/** The parsed content of a signature format: a signature over a digest, not verified yet. */
export interface SignatureClaim {
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** The digest that the key signed: the digest of the file, or of bytes that contain it. */
  readonly signedDigest: Buffer;
  /** The bytes whose hash is `signedDigest`. ML-DSA signs these bytes instead of their hash. */
  readonly message?: Buffer;
  /** The bare signature value. */
  readonly signature: Buffer;
  /**
   * Certificates in the message, starting with the signer's certificate. The sender chooses these certificates, so the certificates are compared with the
   * onboarded certificates and never trusted.
   */
  readonly certificates: readonly X509Certificate[];
  /**
   * The identifiers by which the signature refers to its certificates, one list for each attribute or header: the signer's certificate first, then the
   * certificates of its path.
   */
  readonly certificateIds?: readonly (readonly CertificateId[])[];
  /** TimeStampToken, DER. */
  readonly timestampToken?: Buffer;
  /** Names of the key in a Sigstore bundle or DSSE signature. The names are not signed: a different name excludes a key, but an equal name proves nothing. */
  readonly keyHints?: readonly KeyHint[];
  /** OpenPGP only: the hashed part, which must identify the key that made the signature. */
  readonly hashedPart?: HashedPart;
}

interface KeyHint {
  readonly kind: 'sigstore' | 'dsse';
  readonly text: string;
}

/** Key IDs that earlier versions of the service wrote into DSSE signatures: key and version, or a SHA-256 in base64. Other tools use other IDs. */
const OWN_KEY_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\d+|[A-Za-z0-9+/]{43}=)$/;

/** Returns the key hint in a signature if the hint identifies a key other than `publicKey`; otherwise returns undefined. */
export function otherKeyIn(
  { keyHints = [] }: SignatureClaim,
  keyName: string,
  publicKey: Buffer,
): KeyHint['text'] | undefined {
  const hash = createHash('sha256').update(publicKey).digest();
  const hints = [hash.toString('base64'), hash.toString('hex')];
  const isOther = ({ kind, text }: KeyHint) =>
    !hints.includes(text) && (kind === 'sigstore' || (OWN_KEY_ID.test(text) && text !== keyName));
  return keyHints.find(isOther)?.text;
}

/** Parses a signature. Throws BadSignature, or RangeError for malformed input. */
export type SignatureReader = (file: FileToVerify) => SignatureClaim;

export const readRaw: SignatureReader = ({ digest, algorithm, scheme, message, signature }) => ({
  scheme,
  algorithm,
  signedDigest: digest,
  message,
  signature,
  certificates: [],
});

const SCHEME_OF = { RS: 'rsa-pkcs1v15', PS: 'rsa-pss', ES: 'ecdsa-raw' } as const;

/** Parses a detached JWS with an unencoded payload (RFC 7797), which is the digest. */
export const readJws: SignatureReader = ({ digest, algorithm, signature }) => {
  const [encoded = '', payload, value = '', ...more] = signature.toString('latin1').split('.');
  const header = json(jwsPart(encoded).toString());
  const { alg, b64, crit } = header;
  const ownKey = SENDERS_KEY.find((name) => header[name] !== undefined);
  if (ownKey !== undefined) throw new BadSignature(`its header names a key in "${ownKey}", which is not trusted`);
  if (payload !== '' || more.length > 0 || b64 !== false || JSON.stringify(crit) !== '["b64"]')
    throw new BadSignature('it is not a detached JWS with an unencoded payload');
  const prefix = (['RS', 'PS', 'ES'] as const).find((one) => alg === `${one}${algorithm.slice('sha'.length)}`);
  if (prefix === undefined) throw new BadSignature(`its header names the unsupported algorithm ${String(alg)}`);
  const signingInput = Buffer.concat([Buffer.from(`${encoded}.`), digest]);
  return {
    scheme: SCHEME_OF[prefix],
    algorithm,
    signedDigest: createHash(algorithm).update(signingInput).digest(),
    signature: jwsPart(value),
    certificates: certificatesIn(header['x5c'] ?? []),
    certificateIds: [...thumbprint('sha1', header['x5t']), ...thumbprint('sha256', header['x5t#S256'])],
  };
};

/** Header parameters by which a JWS contains or locates its own key (RFC 7515 sections 4.1.2, 4.1.3 and 4.1.5). */
const SENDERS_KEY = ['jku', 'jwk', 'x5u'] as const;

/** Returns the certificate ID in an x5t or x5t#S256 header (RFC 7515 sections 4.1.7 and 4.1.8). */
function thumbprint(algorithm: 'sha1' | 'sha256', value: unknown): CertificateId[][] {
  if (value === undefined) return [];
  if (typeof value !== 'string') throw new BadSignature('a thumbprint in its header is not a string');
  return [[{ algorithm, hash: jwsPart(value) }]];
}

/** Decodes base64-encoded DER certificates (RFC 7515 section 4.1.6). */
function certificatesIn(list: unknown): X509Certificate[] {
  if (!Array.isArray(list) || list.length > MAX_CHAIN_CERTIFICATES)
    throw new BadSignature(`it must contain at most ${MAX_CHAIN_CERTIFICATES} certificates`);
  return list.map((one) => wholeCertificate(bytes(one)));
}

const HASH_NAME = new Map(FORMAT_DIGESTS.map((name) => [name, `SHA2_${name.slice(-3)}`]));

/**
 * Parses a Sigstore bundle v0.3 with a message signature. The digest in the bundle is compared with the digest of the file, which other verifiers do not
 * check.
 */
export const readSigstoreBundle: SignatureReader = ({ digest, algorithm, scheme, signature: bundle }) => {
  const content = bundleOf(bundle, 'messageSignature');
  const { messageDigest, signature } = record(content['messageSignature']);
  const { algorithm: name, digest: claimed } = record(messageDigest);
  if (name !== HASH_NAME.get(algorithm as never) || !bytes(claimed).equals(digest))
    throw new BadSignature('the bundle is for a different digest');
  return {
    scheme: scheme === 'ecdsa-raw' ? 'ecdsa-der' : scheme,
    algorithm,
    signedDigest: digest,
    signature: bytes(signature),
    certificates: certificatesOfBundle(content),
    timestampToken: tokenOfBundle(content),
    keyHints: hintsOfBundle(content),
  };
};

/** Parses a single signature of a DSSE envelope. The digest is the hash of the pre-authentication encoding. */
export const readDsse: SignatureReader = ({ digest, algorithm, scheme, signature }) => {
  const { sig, keyid } = json(signature.toString());
  return {
    scheme: scheme === 'ecdsa-raw' ? 'ecdsa-der' : scheme,
    algorithm,
    signedDigest: digest,
    signature: bytes(sig),
    certificates: [],
    keyHints: hint('dsse', keyid),
  };
};

/**
 * Parses an OpenPGP signature packet. The digest covers the document and the hashed part of the packet, so only a holder of the document can compute it. The
 * hashed part is therefore compared with the hashed part of the request. Without a request, the hashed part must be for a document signature and, as for
 * signing, identify the key.
 */
export const readOpenPgp: SignatureReader = ({ digest, algorithm, signature: packet, hashedPart: requested }) => {
  const { hashedPart: bytesOfPart, left, numbers } = readSignaturePacket(packet);
  const hashedPart = readHashedPart(bytesOfPart);
  if (hashedPart.hash !== algorithm || !digest.subarray(0, 2).equals(left))
    throw new BadSignature('the signature is over a different digest');
  if (requested !== undefined && !requested.equals(bytesOfPart))
    throw new BadSignature('its hashed part differs from the one that was signed');
  if (requested === undefined && !OPENPGP_DOCUMENTS.includes(hashedPart.type))
    throw new BadSignature('it is not a signature over a document (types 0x00 and 0x01)');
  const [first = Buffer.alloc(0), second] = numbers;
  const claim = { algorithm, signedDigest: digest, certificates: [], hashedPart };
  if (second === undefined) return { ...claim, scheme: 'rsa-pkcs1v15', signature: rsaSignature(first) };
  return { ...claim, scheme: 'ecdsa-der', signature: sequence(integer(first), integer(second)) };
};

const MODULUS_BYTES = [256, 384, 512];

/** Pads the value to the length of the modulus, because OpenPGP omits leading zeros. */
function rsaSignature(number: Buffer): Buffer {
  const length = MODULUS_BYTES.find((size) => size >= number.length) ?? number.length;
  return Buffer.concat([Buffer.alloc(length - number.length), number]);
}

/** Parses a Sigstore bundle v0.3 with a DSSE envelope, whose payload must have the digest. */
export const readAttestation: SignatureReader = ({ digest, algorithm, scheme, signature: bundle }) => {
  const content = bundleOf(bundle, 'dsseEnvelope');
  const { payloadType, payload: encoded, signatures } = record(content['dsseEnvelope']);
  const payload = bytes(encoded);
  if (typeof payloadType !== 'string' || !createHash(algorithm).update(payload).digest().equals(digest))
    throw new BadSignature('the attestation contains a different statement');
  const [first, ...more] = Array.isArray(signatures) ? (signatures as unknown[]) : [];
  if (more.length > 0) throw new BadSignature('the attestation has more than one signature');
  const message = preAuthEncoding(payloadType, payload);
  return {
    scheme: scheme === 'ecdsa-raw' ? 'ecdsa-der' : scheme,
    algorithm,
    signedDigest: createHash(algorithm).update(message).digest(),
    signature: bytes(record(first)['sig']),
    certificates: certificatesOfBundle(content),
    timestampToken: tokenOfBundle(content),
    keyHints: [...hintsOfBundle(content), ...hint('dsse', record(first)['keyid'])],
  };
};

const BUNDLE_CONTENTS = ['messageSignature', 'dsseEnvelope'] as const;

/** Parses a Sigstore bundle v0.3. Rejects a bundle with any other or additional content, because verifiers could disagree on which content to use. */
function bundleOf(bytesOfBundle: Buffer, content: (typeof BUNDLE_CONTENTS)[number]): Record<string, unknown> {
  const bundle = json(bytesOfBundle.toString());
  if (bundle['mediaType'] !== SIGSTORE_BUNDLE) throw new BadSignature(`its mediaType is not "${SIGSTORE_BUNDLE}"`);
  if (BUNDLE_CONTENTS.some((name) => name !== content && bundle[name] !== undefined))
    throw new BadSignature(`its content is not "${content}"`);
  return bundle;
}

/** Returns the certificates in VerificationMaterial of a Sigstore bundle: one certificate, or a chain as in bundles of earlier versions. */
function certificatesOfBundle(content: Record<string, unknown>): X509Certificate[] {
  const { certificate, x509CertificateChain: chain } = record(content['verificationMaterial']);
  const chained = chain === undefined ? [] : record(chain)['certificates'];
  const all = [
    ...(certificate === undefined ? [] : [certificate]),
    ...(Array.isArray(chained) ? (chained as unknown[]) : []),
  ];
  return certificatesIn(all.map((one) => record(one)['rawBytes']));
}

function hintsOfBundle(content: Record<string, unknown>): KeyHint[] {
  const { publicKey } = record(content['verificationMaterial']);
  return publicKey === undefined ? [] : hint('sigstore', record(publicKey)['hint']);
}

/** Returns the hint as a list. An empty hint is treated as absent, as in Protobuf. */
function hint(kind: KeyHint['kind'], text: unknown): KeyHint[] {
  if (text === undefined || text === null || text === '') return [];
  if (typeof text !== 'string') throw new BadSignature('its key hint is not a string');
  return [{ kind, text }];
}

function tokenOfBundle(content: Record<string, unknown>): Buffer | undefined {
  const { timestampVerificationData } = record(content['verificationMaterial']);
  const stamps = record(timestampVerificationData ?? {})['rfc3161Timestamps'] ?? [];
  if (!Array.isArray(stamps) || stamps.length > 1) throw new BadSignature('it must contain at most one timestamp');
  const [stamp] = stamps as unknown[];
  return stamp === undefined ? undefined : tokenIn(bytes(record(stamp)['signedTimestamp']));
}

const GRANTED = [integer(0), integer(1)];

/** Returns the token in a TimeStampResp: status, then the token (RFC 3161 section 2.4.2). */
function tokenIn(response: Buffer): Buffer {
  const [status, token, ...more] = elementsOfSequence(response);
  const [value] = elementsInside(status);
  if (token === undefined || more.length > 0 || !GRANTED.some((one) => value?.raw.equals(one)))
    throw new BadSignature('its timestamp is not a TimeStampResp with a token');
  return token.raw;
}

function json(text: string): Record<string, unknown> {
  try {
    return readJsonObject(text);
  } catch (error) {
    if (!(error instanceof JsonRefused)) throw error;
    throw new BadSignature(`it is not valid JSON: ${error.message}`);
  }
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new BadSignature('a field is missing');
  return value as Record<string, unknown>;
}

function bytes(value: unknown): Buffer {
  if (typeof value !== 'string') throw new BadSignature('a field is missing');
  return decoded(fromBase64(value));
}

/** Decodes a part of a JWS (RFC 7515 section 2): base64url without padding. */
function jwsPart(text: string): Buffer {
  return decoded(fromBase64Url(text));
}

function decoded(part: Buffer | undefined): Buffer {
  if (part === undefined) throw new BadSignature('a field is not valid base64');
  return part;
}
