import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { KeyVault, type VaultKey } from '../../hsm/key-vault.js';
import { CertificatesReader } from '../certificates/certificates.reader.js';
import { isFormatDigest } from '../formats/algorithm-identifiers.js';
import { FORMAT_WRITERS, type WrappedFormat } from '../formats/format-writers.js';
import { keyNameOf, type MadeSignature } from '../formats/signature-format.js';
import { TimestampSources } from '../timestamping/timestamp-sources.js';
import type { Claimed } from './claimed.js';
import { SIGNING_ACTOR } from '../model/signing-actor.js';

/** One attempt's way through the HSM, and through the format's container behind it. */
@Injectable()
export class SignatureMaker {
  constructor(
    private readonly vault: KeyVault,
    private readonly certificates: CertificatesReader,
    private readonly timestamps: TimestampSources,
  ) {}

  /** The signature as the caller gets it. The HSM is given the digest that the request's row, or its envelope, names. */
  async make(request: Claimed, key: VaultKey): Promise<MadeSignature> {
    const { scheme, algorithm, envelope, format } = request;
    const digest = envelope?.signedDigest ?? request.digest;
    // ML-DSA has no digest of its own: it signs the bytes themselves (RFC 9882 section 3.3, RFC 9881 section 3).
    const message = scheme === 'ml-dsa' ? (envelope?.toBeSigned ?? undefined) : undefined;
    const signature = await this.vault.sign({ key, scheme, algorithm, digest, message });
    const timestampToken = envelope?.timestamped === true ? await this.stamp(request, signature) : undefined;
    if (format === 'raw') return { signature, timestampToken };
    return this.wrap(format, request, key, { signature, timestampToken });
  }

  /** A timestamp over the signature value, as CAdES-T, Authenticode and Sigstore bundles all want it. */
  private stamp({ id, algorithm: asked }: Claimed, signature: Buffer): Promise<Buffer> {
    const algorithm = isFormatDigest(asked) ? asked : 'sha256';
    const digest = createHash(algorithm).update(signature).digest();
    const asker = { actor: SIGNING_ACTOR, ownerId: SIGNING_ACTOR.id, correlation: id };
    return this.timestamps.stamp(digest, algorithm, asker, id);
  }

  private async wrap(
    format: WrappedFormat,
    request: Claimed,
    key: VaultKey,
    made: MadeSignature,
  ): Promise<MadeSignature> {
    const { digest, algorithm, scheme, envelope } = request;
    if (!isFormatDigest(algorithm)) throw new Error(`the format ${format} was accepted with ${algorithm}`);
    const order = {
      digest,
      algorithm,
      scheme,
      keyType: key.type,
      publicKey: key.publicKey,
      keyName: keyNameOf(request.keyId, request.keyVersion),
      chain: (await this.certificates.chain(request.certificateId)) ?? [],
      content: envelope?.content ?? undefined,
    };
    const writer = FORMAT_WRITERS[format];
    const signature = writer.assemble(order, envelope?.toBeSigned ?? undefined, made);
    return { ...made, signature, record: writer.record?.(order, made.signature) };
  }
}
