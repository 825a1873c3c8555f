import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { type Caller, principalOf } from '../../access/caller.js';
import {
  type DigestAlgorithm,
  type SignaturePurpose,
  type SignatureScheme,
  DIGEST_BYTES,
  type KeyType,
  isMlDsa,
} from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, idempotentUse } from '../../platform/http/idempotency-keys.js';
import { Clock } from '../../platform/work/clock.js';
import type { Certificate } from '../certificates/certificate.entity.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { readExtractedData } from '../formats/authenticode.format.js';
import { digestOfFormat, FORMAT_WRITERS, schemeOfFormat, type WrappedFormat } from '../formats/format-writers.js';
import { keyNameOf, type SignatureFormat } from '../formats/signature-format.js';
import { keyFactsOf } from '../keys/key-facts.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { keyPurposesFor } from '../keys/signing-key.entity.js';
import { TimestampSources } from '../timestamping/timestamp-sources.js';
import { type Envelope, type NewSigningRequest, newRow } from './signing-attempt.js';
import type { SigningRequest } from '../signing-request.entity.js';

/** A signature request from a caller. */
export interface SigningOrder {
  /** Base64-encoded hash value; may be absent if `content` contains the hash value. */
  readonly digest?: string;
  readonly algorithm: string;
  readonly key?: string;
  readonly scheme?: SignatureScheme;
  /** Purpose of the signature, which the key must support. */
  readonly purpose?: SignaturePurpose;
  readonly format: SignatureFormat;
  /** Base64. `authenticode`: the output of `osslsigncode extract-data`; `openpgp`: the hashed part of the signature. */
  readonly content?: string;
  /** True for an OpenPGP self-signature that the service composed. Callers cannot request self-signatures. */
  readonly isStatement?: boolean;
  /** The structure that the service composed and the key signs; `attestation` and `raw` only. */
  readonly statement?: Buffer;
  /** Whether to add a timestamp over the signature. */
  readonly timestamp: boolean;
  readonly metadata: Record<string, unknown>;
  readonly reference: string | null;
  readonly background: boolean;
  readonly idempotencyKey?: string;
  /** Batch of the request, and its index in the batch. */
  readonly batch?: { readonly id: string; readonly index: number };
}

interface Digest {
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  readonly content: Buffer | null;
}

/** SignRequestValidator converts an order of a caller into a request that can be recorded, or rejects it. */
@Injectable()
export class SignRequestValidator {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly certificates: CertificatesReader,
    private readonly clock: Clock,
    private readonly timestamps: TimestampSources,
  ) {}

  /** Parses an order and checks it against its key. An order that cannot be signed is rejected before it is recorded. */
  async validate(caller: Caller, order: SigningOrder): Promise<NewSigningRequest> {
    const { digest, algorithm, content } = digestOf(order);
    const key = await this.keys.active(caller, order.key, keyPurposesFor(purposeOf(order)));
    // Without a timestamp authority, the request could never succeed, so the request is rejected.
    if (order.timestamp) await this.timestamps.assertAny();
    const wrapping =
      order.format === 'raw' ? undefined : await this.wrap(order.format, order, { digest, algorithm, content }, key);
    const scheme = wrapping?.scheme ?? schemeFor(key.type, order.scheme);
    const envelope = wrapping?.envelope ?? bareEnvelope(order, digest);
    const { id: requestedBy, ownerId, identity = null } = caller;
    await this.keys.assertPermitted(
      key,
      { ...order, algorithm, scheme, requestedBy, ownerId, identity },
      this.clock.now(),
    );
    const row = newRow(caller, {
      id: newId(),
      status: order.background ? 'QUEUED' : 'PROCESSING',
      digest,
      algorithm,
      scheme,
      format: order.format,
      keyId: key.keyId,
      keyName: key.name,
      keyVersion: key.version,
      certificateId: key.certificateId,
      enveloped: envelope !== undefined,
      composed: false,
      batchId: order.batch?.id ?? null,
      batchIndex: order.batch?.index ?? null,
      metadata: order.metadata,
      reference: order.reference,
    });
    const { revision: keyRevision, constraints: limits } = key;
    return { row, envelope, keyRevision, keyFacts: keyFactsOf(key), limits, caller, use: useOf(caller, order, row.id) };
  }

  /** Rejects an order whose key the caller cannot use, before anything else is checked. Throws Problem `signing-key.unknown` if there is no such key. */
  async assertUsableKey(caller: Caller, { key }: Pick<SigningOrder, 'key'>): Promise<void> {
    if (caller.keys !== undefined) await this.keys.known(caller, key);
  }

  /** Makes the next `validate` read the key of this order from the database. */
  forgetKeyOf(order: Pick<SigningOrder, 'key'>): void {
    this.keys.forgetNamed(order.key);
  }

  /** Returns the envelope of a request for a key version other than the validated one. */
  async rewrap({ format, ...request }: SigningRequest, envelope: Envelope, key: ActiveKey): Promise<Envelope> {
    // The client composed the bytes that OpenPGP signs for one version of the key, so no other version may sign these bytes.
    if (format === 'raw' || format === 'openpgp') return envelope;
    const order = { scheme: request.scheme, timestamp: envelope.timestamped };
    return (await this.wrap(format, order, { ...request, content: envelope.content }, key)).envelope;
  }

  /** Composes the bytes to be signed. The bytes are composed only once, so that every attempt signs the same bytes. */
  private async wrap(
    format: WrappedFormat,
    order: Pick<SigningOrder, 'scheme' | 'timestamp' | 'isStatement'>,
    { digest, algorithm: asked, content }: Digest,
    key: ActiveKey,
  ): Promise<{ scheme: SignatureScheme; envelope: Envelope }> {
    const scheme = schemeOfFormat(format, key.type, order.scheme);
    const algorithm = digestOfFormat(format, key.type, asked);
    const writer = FORMAT_WRITERS[format];
    const certificate = key.certificateId === null ? undefined : await this.certificates.get(key.certificateId);
    if (writer.needsCertificate) assertUsable(format, key, certificate, this.clock.now());
    const toBeSigned = writer.toBeSigned(
      {
        digest,
        algorithm,
        scheme,
        keyType: key.type,
        publicKey: key.publicKey,
        keyName: keyNameOf(key.keyId, key.version),
        chain: certificate?.chain ?? [],
        madeAt: key.madeAt,
        content: content ?? undefined,
        isStatement: order.isStatement,
      },
      this.clock.now(),
    );
    const signedDigest = toBeSigned === undefined ? null : createHash(algorithm).update(toBeSigned).digest();
    return {
      scheme,
      envelope: { content, toBeSigned: toBeSigned ?? null, signedDigest, timestamped: order.timestamp },
    };
  }
}

/** Returns the envelope of a raw signature with a timestamp, or of a statement that the service composed. */
function bareEnvelope({ statement, timestamp: timestamped }: SigningOrder, digest: Buffer): Envelope | undefined {
  if (statement !== undefined) return { content: null, toBeSigned: statement, signedDigest: digest, timestamped };
  return timestamped ? { content: null, toBeSigned: null, signedDigest: null, timestamped } : undefined;
}

function useOf(caller: Caller, order: SigningOrder, resource: string): IdempotentUse | undefined {
  const { idempotencyKey, statement: _composed, ...body } = order;
  const principal = principalOf(caller);
  const operation = order.batch === undefined ? 'signDigest' : 'signBatchItem';
  return idempotentUse(idempotencyKey, { principal, operation, body, resource });
}

/**
 * Returns the purpose that an order requires. OpenPGP is the only purpose determined by the format: OpenPGP keys sign nothing else, and no other key
 * produces the format, so that a bare digest never becomes an OpenPGP signature. Throws Problem `openpgp.format`.
 */
function purposeOf({ format, purpose }: SigningOrder): SignaturePurpose | undefined {
  if (format === 'openpgp' && (purpose === undefined || purpose === 'openpgp')) return 'openpgp';
  if (format !== 'openpgp' && purpose !== 'openpgp') return purpose;
  throw invalid('/format', 'openpgp.format', 'format "openpgp" and purpose "openpgp" must be used together');
}

/** Returns the digest to be signed. The digest of an attestation is the hash of its statement. */
function digestOf(order: SigningOrder): Digest {
  const { format, digest, content: encoded, statement } = order;
  if (format === 'attestation') return statementDigest(statement);
  if (format === 'authenticode') return authenticodeDigest(order);
  const algorithm = digestAlgorithm(order.algorithm);
  const bytes = digestBytes(digest ?? '', algorithm);
  assertNoText(bytes);
  if (format === 'openpgp') return { algorithm, digest: bytes, content: hashedPart(encoded) };
  if (encoded !== undefined)
    throw malformedContent('content.unexpected', 'is allowed only for the "authenticode" and "openpgp" formats');
  return { algorithm, digest: bytes, content: null };
}

function hashedPart(encoded: string | undefined): Buffer {
  if (encoded === undefined)
    throw malformedContent('content.missing', 'must be the hashed part of the OpenPGP signature, in base64');
  const bytes = fromBase64(encoded);
  if (bytes === undefined) throw malformedContent('content.unreadable', 'must be base64 with padding');
  return bytes;
}

function statementDigest(statement: Buffer | undefined): Digest {
  if (statement === undefined) throw new Error('the attestation has no statement');
  return { algorithm: 'sha256', digest: createHash('sha256').update(statement).digest(), content: statement };
}

/**
 * Returns the digest of an `authenticode` order, which is in the data extracted from the file. If the order also contains a digest, both digests must be
 * equal.
 */
function authenticodeDigest({ digest, content: encoded }: SigningOrder): Digest {
  if (encoded === undefined)
    throw malformedContent('content.missing', 'must be the output of osslsigncode extract-data, in base64');
  const found = extracted(encoded);
  if (digest !== undefined && !digestBytes(digest, found.algorithm).equals(found.digest))
    throw malformedContent('content.other-digest', 'has an Authenticode hash that differs from the digest');
  return found;
}

function extracted(encoded: string): Digest {
  const bytes = fromBase64(encoded);
  if (bytes === undefined) throw malformedContent('content.unreadable', 'must be base64 with padding');
  try {
    return readExtractedData(bytes);
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : 'it cannot be parsed';
    throw malformedContent('content.unreadable', `is not the output of osslsigncode extract-data: ${reason}`, cause);
  }
}

function assertUsable(
  format: WrappedFormat,
  key: ActiveKey,
  certificate: Certificate | undefined,
  now: Date,
): asserts certificate is Certificate {
  if (certificate === undefined)
    throw new Problem(
      'conflict',
      'certificate.none',
      `Format ${format} requires a certificate, but key "${key.name}" has no certificate. Import a certificate first.`,
    );
  if (now >= certificate.notAfter)
    throw new Problem(
      'conflict',
      'certificate.expired',
      `The certificate of key "${key.name}" expired at ${certificate.notAfter.toISOString()}. Import a renewed certificate.`,
    );
  const { purposes } = certificate;
  if (
    format === 'authenticode' &&
    purposes.length > 0 &&
    !purposes.some((one) => ['code-signing', 'any'].includes(one))
  )
    throw new Problem(
      'conflict',
      'certificate.purpose',
      `The certificate of key "${key.name}" does not allow code signing.`,
    );
}

function malformedContent(code: string, detail: string, cause?: unknown): Problem {
  return invalid('/content', code, detail, cause);
}

/** Normalizes names that clients use for the same digest algorithm: `sha256`, `SHA-256`, `sha2-256`; `sha3-256`, `SHA3-256`. */
export function digestAlgorithm(given: string): DigestAlgorithm {
  const plain = given.toLowerCase().replace(/^sha2?-(?=\d{3}$)/, 'sha');
  const known = (Object.keys(DIGEST_BYTES) as DigestAlgorithm[]).find((name) => name === plain);
  if (known !== undefined) return known;
  throw invalid('/algorithm', 'algorithm.unsupported', `must be one of ${Object.keys(DIGEST_BYTES).join(', ')}`);
}

const HEX_ONLY = /^(?:[0-9a-f]+|[0-9A-F]+)$/;

/** Decodes a digest and checks that its length matches the algorithm. */
export function digestBytes(base64: string, algorithm: DigestAlgorithm): Buffer {
  if (HEX_ONLY.test(base64) && base64.length >= 32) {
    throw invalid('/digest', 'digest.hex', 'looks like hexadecimal; send the binary hash value in base64');
  }
  const bytes = base64 === '' ? undefined : fromBase64(base64);
  if (bytes === undefined) {
    throw invalid(
      '/digest',
      'digest.not-base64',
      'must be the binary hash value in base64 (RFC 4648 section 4, with padding)',
    );
  }
  const wanted = DIGEST_BYTES[algorithm];
  if (bytes.length === wanted) return bytes;
  throw invalid(
    '/digest',
    'digest.length',
    `a ${algorithm} digest has ${wanted} bytes, but this one has ${bytes.length}`,
  );
}

/** Decodes UTF-8, or throws TypeError. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });
const CONTROL_CHARACTER = /[^\P{C}\t\n\r]/u;

/**
 * assertNoText rejects a digest that is text, such as a script or a JSON object: approvers see only its base64, and the payload of a JWS is the digest itself.
 * One in 10^10 SHA-256 digests is text by chance.
 */
function assertNoText(digest: Buffer): void {
  try {
    const text = UTF8.decode(digest);
    if (CONTROL_CHARACTER.test(text) || text.trim() === '') return;
  } catch {
    return;
  }
  throw invalid('/digest', 'digest.text', 'is text, not a hash value; send the binary hash value in base64');
}

const SCHEMES_OF = {
  rsa: ['rsa-pkcs1v15', 'rsa-pss'],
  ec: ['ecdsa-der', 'ecdsa-raw'],
  ml: ['ml-dsa'],
} as const satisfies Record<string, readonly SignatureScheme[]>;

/** Returns the requested scheme, or the default for the key type that most verifiers expect: PKCS #1 v1.5 and DER. */
export function schemeFor(type: KeyType, asked: SignatureScheme | undefined): SignatureScheme {
  const fitting: readonly SignatureScheme[] = SCHEMES_OF[isMlDsa(type) ? 'ml' : type.startsWith('rsa') ? 'rsa' : 'ec'];
  const scheme = asked ?? fitting[0];
  if (scheme !== undefined && fitting.includes(scheme)) return scheme;
  throw invalid('/scheme', 'scheme.wrong-key', `a key of type ${type} supports only ${fitting.join(' or ')}`);
}

function invalid(pointer: string, code: string, detail: string, cause?: unknown): Problem {
  return new Problem('malformed', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }], cause });
}
