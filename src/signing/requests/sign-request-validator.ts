import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { Caller } from '../../access/caller.js';
import type { DigestAlgorithm, SignatureScheme } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import { idempotentUse } from '../../platform/idempotency/idempotency-keys.js';
import { Clock } from '../../platform/time/clock.js';
import type { Certificate } from '../certificates/certificate.entity.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { readExtractedData } from '../formats/authenticode.format.js';
import { digestOfFormat, FORMAT_WRITERS, schemeOfFormat, type WrappedFormat } from '../formats/format-writers.js';
import { keyNameOf } from '../formats/signature-format.js';
import { keyFactsOf } from '../keys/key-facts.js';
import { assertPermitted } from '../keys/key-constraints.js';
import { type ActiveKey, SigningKeyReader } from '../keys/signing-key.reader.js';
import { TimestampSources } from '../timestamping/timestamp-sources.js';
import type { NewSigningRequest } from './signing-outcome.js';
import type { SigningRequest } from '../model/signing-request.entity.js';
import { digestAlgorithm, digestBytes, schemeFor, type SigningOrder } from './signing-order.js';

type Envelope = NonNullable<NewSigningRequest['envelope']>;

interface Digest {
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  readonly content: Buffer | null;
}

/** Turns what a caller sent into a request that can be accepted, or says why it cannot. */
@Injectable()
export class SignRequestValidator {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly certificates: CertificatesReader,
    private readonly clock: Clock,
    private readonly timestamps: TimestampSources,
  ) {}

  async newRequestOf(caller: Caller, order: SigningOrder): Promise<NewSigningRequest> {
    const read = digestOf(order);
    const key = await this.keys.active(order.key);
    // Without an authority the request could never end well, so it is not accepted.
    if (order.timestamp) await this.timestamps.assertAny();
    const id = newId();
    const { idempotencyKey, background, ...body } = order;
    const wrapping = order.format === 'raw' ? undefined : await this.wrap(order.format, order, read, key);
    const scheme = wrapping?.scheme ?? schemeFor(key.type, order.scheme);
    const { id: requestedBy, ownerId } = caller;
    assertPermitted(key, { ...order, algorithm: read.algorithm, scheme, requestedBy, ownerId }, this.clock.now());
    return {
      request: {
        id,
        digest: read.digest,
        algorithm: read.algorithm,
        scheme,
        format: order.format,
        keyId: key.keyId,
        keyName: key.name,
        keyVersion: key.version,
        certificateId: key.certificateId,
        metadata: order.metadata,
        reference: order.reference,
        composed: false,
        batchId: order.batch?.id ?? null,
        batchIndex: order.batch?.index ?? null,
      },
      keyRevision: key.revision,
      keyFacts: keyFactsOf(key),
      limits: key.constraints,
      envelope: wrapping?.envelope ?? (order.timestamp ? bare(true) : undefined),
      status: background ? 'QUEUED' : 'PROCESSING',
      caller,
      use: idempotentUse(idempotencyKey, {
        principal: caller.id,
        operation: order.batch === undefined ? 'signDigest' : 'signBatchItem',
        body: { ...body, background },
        resource: id,
      }),
    };
  }

  /** What is remembered of the key that the order names is not believed any longer. */
  forgetKeyOf(order: SigningOrder): void {
    this.keys.forgetNamed(order.key);
  }

  /** The envelope of a request that is to be signed with another version of its key than the one it was made for. */
  async rewrap({ format, ...request }: SigningRequest, envelope: Envelope, key: ActiveKey): Promise<Envelope> {
    if (format === 'raw') return envelope;
    const order = { scheme: request.scheme, timestamp: envelope.timestamped };
    return (await this.wrap(format, order, { ...request, content: envelope.content }, key)).envelope;
  }

  /** The bytes to be signed are settled here, once: every attempt signs the same. */
  private async wrap(
    format: WrappedFormat,
    order: Pick<SigningOrder, 'scheme' | 'timestamp'>,
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
        content: content ?? undefined,
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

function bare(timestamped: boolean): Envelope {
  return { content: null, toBeSigned: null, signedDigest: null, timestamped };
}

/** `authenticode` takes the digest from the data that was extracted from the file; a digest beside it must be the same. */
function digestOf({ format, digest, algorithm: given, content: encoded }: SigningOrder): Digest {
  if (format !== 'authenticode') {
    if (encoded !== undefined) throw malformedContent('content.unexpected', 'is for the format authenticode alone');
    const algorithm = digestAlgorithm(given);
    return { algorithm, digest: digestBytes(digest ?? '', algorithm), content: null };
  }
  if (encoded === undefined)
    throw malformedContent('content.missing', 'send what osslsigncode extract-data wrote, in base64');
  const found = extracted(encoded);
  if (digest !== undefined && !digestBytes(digest, found.algorithm).equals(found.digest))
    throw malformedContent(
      'content.other-digest',
      'is of a file with another Authenticode hash than the digest beside it',
    );
  return found;
}

function extracted(encoded: string): Digest {
  const bytes = fromBase64(encoded);
  if (bytes === undefined) throw malformedContent('content.unreadable', 'must be base64 with padding');
  try {
    return readExtractedData(bytes);
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : 'cannot be read';
    throw malformedContent('content.unreadable', `is not what osslsigncode extract-data writes: ${reason}`, cause);
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
      `The format ${format} needs a certificate, and the key "${key.name}" has none yet.`,
    );
  if (now >= certificate.notAfter)
    throw new Problem(
      'conflict',
      'certificate.expired',
      `The certificate of the key "${key.name}" expired at ${certificate.notAfter.toISOString()}.`,
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
      `The certificate of the key "${key.name}" does not allow code signing.`,
    );
}

function malformedContent(code: string, detail: string, cause?: unknown): Problem {
  const errors = [{ pointer: '/content', detail }];
  return new Problem('malformed', code, `/content: ${detail}.`, { errors, cause });
}
