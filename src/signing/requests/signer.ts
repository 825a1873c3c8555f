import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { type KeyType, KeyVault } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { traced } from '../../platform/observability/tracing.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { isFormatDigest } from '../formats/algorithm-identifiers.js';
import { digestOfFormat, FORMAT_WRITERS, type WrappedFormat } from '../formats/format-writers.js';
import { type FormatOrder, keyNameOf, type MadeSignature } from '../formats/signature-format.js';
import { SigningKeyReader, type SigningVaultKey } from '../keys/signing-key.reader.js';
import { backoffMs, MAX_SIGNING_STRIKES, SIGNING_ACTOR } from '../signing-jobs.js';
import { TimestampSources } from '../timestamping/timestamp-sources.js';
import type { Claimed, SigningOutcome } from './signing-attempt.js';
import { assertNotExpired } from '../certificates/certificate-chain.js';

/** Signer makes one attempt to sign a request whose intent has been committed: the HSM signs, and the format puts the signature into its container. */
@Injectable()
export class Signer {
  constructor(
    private readonly keys: SigningKeyReader,
    private readonly vault: KeyVault,
    private readonly timestamps: TimestampSources,
    private readonly certificates: CertificatesReader,
    private readonly metrics: Metrics,
  ) {}

  /** Makes one attempt. Never throws; errors are returned as outcomes. The state, dates and constraints of the key are checked again. */
  async sign(request: Claimed): Promise<SigningOutcome> {
    const started = performance.now();
    let type = 'none';
    let outcome: SigningOutcome;
    try {
      const key = await this.keys.toSignWith({ ...request, timestamp: request.envelope?.timestamped ?? false });
      type = key.type;
      outcome = { kind: 'SIGNED', ...(await this.signature(request, key)) };
    } catch (error) {
      outcome = outcomeOf(error, request.strikes);
    }
    this.metrics.hsmSign.observe({ type, outcome: outcome.kind }, (performance.now() - started) / 1000);
    return outcome;
  }

  /** Returns the signature for the caller. The HSM gets the digest in the row of the request, or in its envelope. */
  private async signature(request: Claimed, { madeAt, ...key }: SigningVaultKey): Promise<MadeSignature> {
    const { scheme, algorithm, envelope, format } = request;
    assertPublicKey(request, key.publicKey);
    const order = format === 'raw' ? undefined : await this.orderOf(format, request, { ...key, madeAt });
    if (format !== 'raw' && order !== undefined) FORMAT_WRITERS[format].beforeSigning?.(order);
    assertSignedDigest(request, key.type);
    const digest = envelope?.signedDigest ?? request.digest;
    // ML-DSA has no separate digest: it signs the bytes themselves (RFC 9882 section 3.3, RFC 9881 section 3).
    const message = scheme === 'ml-dsa' ? (envelope?.toBeSigned ?? undefined) : undefined;
    const signature = await traced('hsm.sign', { 'sealwright.key.type': key.type, 'sealwright.scheme': scheme }, () =>
      this.vault.sign({ key, scheme, algorithm, digest, message, caller: request.requestedBy }),
    );
    const timestampToken = envelope?.timestamped === true ? await this.stamp(request, signature) : undefined;
    const made = { signature, timestampToken };
    return format === 'raw' || order === undefined ? made : wrapped(format, order, envelope?.toBeSigned, made);
  }

  /** Gets a timestamp over the signature value, as CAdES-T, Authenticode and Sigstore bundles require. */
  private stamp({ id, algorithm: asked }: Claimed, signature: Buffer): Promise<Buffer> {
    const algorithm = isFormatDigest(asked) ? asked : 'sha256';
    const digest = createHash(algorithm).update(signature).digest();
    const requester = { actor: SIGNING_ACTOR, ownerId: SIGNING_ACTOR.id, correlation: id };
    return this.timestamps.stamp(digest, algorithm, requester, id);
  }

  private async orderOf(format: WrappedFormat, request: Claimed, key: SigningVaultKey): Promise<FormatOrder> {
    const { digest, algorithm, scheme, envelope } = request;
    if (!isFormatDigest(algorithm))
      throw new Error(`format ${format} was accepted with unsupported digest algorithm ${algorithm}`);
    const chain = (await this.certificates.chain(request.certificateId)) ?? [];
    if (FORMAT_WRITERS[format].needsCertificate) assertNotExpired(chain);
    return {
      digest,
      algorithm,
      scheme,
      keyType: key.type,
      publicKey: key.publicKey,
      madeAt: key.madeAt,
      keyName: keyNameOf(request.keyId, request.keyVersion),
      chain,
      content: envelope?.content ?? undefined,
    };
  }
}

/**
 * assertPublicKey verifies that a request is signed with the public key for which it was accepted. Certificates and records contain that public key:
 * if the row of the key was modified while a certificate was composed, the certificate would be for another key.
 *
 * @throws Problem `signing.not-logged`
 */
function assertPublicKey({ publicKeySha256: logged }: Claimed, publicKey: Uint8Array): void {
  if (logged === undefined || logged === createHash('sha256').update(publicKey).digest('base64')) return;
  const detail =
    'The public key differs from the key recorded when the request was accepted. The public key was changed in the database.';
  throw new Problem('conflict', 'signing.not-logged', detail);
}

/**
 * assertSignedDigest verifies that the bytes of an envelope have the digest that was logged when the request was accepted. ML-DSA signs the bytes themselves,
 * so without this check a row of signing_envelope would suffice to have arbitrary bytes signed.
 *
 * @throws Problem `signing.not-logged`
 */
function assertSignedDigest({ format, algorithm: asked, envelope }: Claimed, type: KeyType): void {
  const { toBeSigned = null, signedDigest = null } = envelope ?? {};
  if (toBeSigned === null && signedDigest === null) return;
  const algorithm = format === 'raw' ? asked : digestOfFormat(format, type, asked);
  if (toBeSigned !== null && signedDigest?.equals(createHash(algorithm).update(toBeSigned).digest()) === true) return;
  const detail =
    'The bytes to be signed differ from the bytes recorded when the request was accepted. The bytes were changed in the database.';
  throw new Problem('conflict', 'signing.not-logged', detail);
}

function wrapped(
  format: WrappedFormat,
  order: FormatOrder,
  toBeSigned: Buffer | null | undefined,
  made: MadeSignature,
): MadeSignature {
  const writer = FORMAT_WRITERS[format];
  const signature = writer.assemble(order, toBeSigned ?? undefined, made);
  return { ...made, signature, record: writer.record?.(order, made.signature) };
}

/**
 * Converts an error to an outcome. An error that may be temporary releases the request until the maximum number of strikes is reached. An unexpected error is
 * treated as temporary.
 */
function outcomeOf(error: unknown, strikes: number): SigningOutcome {
  const problem =
    error instanceof Problem
      ? error
      : new Problem('unavailable', 'signing.internal', 'The attempt failed with an internal error.', {
          cause: error,
        });
  const { code, message: detail } = problem;
  if (!problem.isTransient || strikes + 1 >= MAX_SIGNING_STRIKES) return { kind: 'FAILED', code, detail };
  return { kind: 'RELEASED', code, retryInMs: backoffMs(strikes + 1) };
}
