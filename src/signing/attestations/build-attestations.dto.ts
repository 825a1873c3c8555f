import { ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { Flag, ListOf, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import type { DsseEnvelope } from '../../formats/encoding/dsse.js';
import { SigningRequestView } from '../signing-requests.dto.js';
import { digestBytes } from '../requests/sign-request-validator.js';
import type { AttestationOrder, ShownAttestation } from './build-attestations.service.js';
import type { StatementSubject } from './provenance-statement.js';

const ALGORITHMS = ['sha256', 'sha384', 'sha512'] as const;

export class BuildAttestationSubjectBody {
  /** Name of the file. @example app-1.2.0.tar.gz */
  @Text(1, 200) @Matches(/^[^\p{C}`"<>|$]+$/u) name: string;
  /** Base64-encoded binary hash value. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  @Text(0, 128) digest: string;
  @Optional(OneOf(ALGORITHMS, { default: 'sha256' })) algorithm?: (typeof ALGORITHMS)[number] = 'sha256';

  toSubject(): StatementSubject {
    const { name, digest, algorithm = 'sha256' } = this;
    return { name, digest: { [algorithm]: digestBytes(digest, algorithm).toString('hex') } };
  }
}

export class BuildAttestationBody {
  /** The files that were built. */
  @ListOf(BuildAttestationSubjectBody, { min: 1, max: 50 }) subjects: BuildAttestationSubjectBody[];
  /** Name or ID of the signing key. Defaults to the configured key. @example provenance */
  @Optional(Text(1, 64)) key?: string;
  /** Whether to add an RFC 3161 timestamp over the signature. */
  @Optional(Flag()) timestamp?: boolean = false;
  /** If true, the service responds with 202 immediately and signs in the background. */
  @Optional(Flag()) async?: boolean = false;
  /** Client-defined reference for the request, included in every response. @example build-4711 */
  @Optional(Text(1, 200)) reference?: string;

  toOrder(idempotencyKey: string | undefined): AttestationOrder {
    const { key, timestamp = false, reference = null, async: background = false } = this;
    const subjects = this.subjects.map((one) => one.toSubject());
    return { subjects, key, timestamp, reference, background, idempotencyKey };
  }
}

export class DsseSignatureView {
  /** Signature, base64. @example MEUCIQDf9w2X0Qm5cYxXkq1mJ3yZbq3T7n1s0o2v4c6k8g0hJwIgWm1kQy8p3r5t7v9x1z3B5D7F9H1J3L5N7P9R1T3V5X8= */
  sig: string;
  /** Present only in attestations created before version 0.2. @example release */
  keyid?: string;
}

/** A DSSE v1 envelope. */
export class DsseEnvelopeView implements DsseEnvelope {
  /** @example application/vnd.in-toto+json */
  payloadType: string;
  /** Base64-encoded statement. @example eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ== */
  payload: string;
  signatures: DsseSignatureView[];
}

export class BuildAttestationView {
  request: SigningRequestView;
  /** in-toto statement v1 with SLSA v1 provenance. Absent until the statement is signed. */
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1' },
  })
  statement?: object;
  envelope?: DsseEnvelopeView;
  /** Sigstore bundle v0.3 with the envelope. The evidence of the request contains the bundle with its inclusion proof. */
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json' },
  })
  bundle?: object;

  static of({ request, made }: ShownAttestation): BuildAttestationView {
    const view = { request: SigningRequestView.of(request) };
    if (made === undefined) return view;
    const { payloadType, payload, signatures } = made.envelope;
    const envelope = {
      payloadType,
      payload,
      signatures: signatures.map(({ sig, keyid }) => (keyid === undefined ? { sig } : { sig, keyid })),
    };
    return { ...view, statement: made.statement, envelope, bundle: made.bundle };
  }
}
