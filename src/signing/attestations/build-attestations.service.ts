import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import type { DsseEnvelope } from '../../formats/encoding/dsse.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { Problem } from '../../platform/errors/problem.js';
import type { ShownRequest } from '../requests/signing-requests.reader.js';
import { SigningRequestsReader } from '../requests/signing-requests.reader.js';
import { SigningService } from '../requests/signing.service.js';
import { PROVENANCE_TYPE, provenanceStatement, type StatementSubject } from './provenance-statement.js';
import { base64Bytes } from '../../formats/encoding/base64.js';

export interface AttestationOrder {
  readonly subjects: readonly StatementSubject[];
  readonly key: string | undefined;
  readonly timestamp: boolean;
  readonly reference: string | null;
  readonly background: boolean;
  readonly idempotencyKey: string | undefined;
}

/** ShownAttestation is a request for an attestation together with its result. */
export interface ShownAttestation {
  readonly request: ShownRequest;
  /** Absent until the attestation is signed. */
  readonly made: { readonly statement: object; readonly envelope: DsseEnvelope; readonly bundle: object } | undefined;
}

/**
 * BuildAttestationsService creates attestations of how files were built. Attestations contain verified claims from the caller's token, not statements made by
 * the caller.
 */
@Injectable()
export class BuildAttestationsService {
  constructor(
    private readonly signing: SigningService,
    private readonly requests: SigningRequestsReader,
  ) {}

  /** Creates and signs an attestation. Throws the Problems of `SigningService.submit`, and Problem `attestation.no-identity`. */
  async attest(caller: Caller, { subjects, ...order }: AttestationOrder): Promise<ShownAttestation> {
    if (caller.identity === undefined) {
      const detail = 'Only workloads can create build attestations. Authenticate with a workload token.';
      throw new Problem('forbidden', 'attestation.no-identity', detail);
    }
    const statement = Buffer.from(canonicalJson(provenanceStatement(subjects, caller.identity)));
    const metadata = {
      filename: subjects.map(({ name }) => name).join(', '),
      predicateType: PROVENANCE_TYPE,
      subjects,
    };
    const whole = { ...order, statement, metadata, algorithm: 'sha256', format: 'attestation' } as const;
    return shown(await this.signing.submit(caller, whole));
  }

  /**
   * Returns the attestation of a request, waiting up to `seconds` for the request to become final. Throws Problem `attestation.none` if the request is not
   * for an attestation.
   */
  async find(caller: Caller, id: string, seconds = 0): Promise<ShownAttestation> {
    const request = await this.requests.find(caller, id, seconds);
    if (request.format === 'attestation') return shown(request);
    throw new Problem('missing', 'attestation.none', 'This request is for a signature, not for an attestation.');
  }
}

function shown(request: ShownRequest): ShownAttestation {
  if (request.signature === null) return { request, made: undefined };
  const bundle = JSON.parse(request.signature.toString()) as { dsseEnvelope: DsseEnvelope };
  const envelope = bundle.dsseEnvelope;
  const statement = JSON.parse(base64Bytes(envelope.payload).toString()) as object;
  return { request, made: { statement, envelope, bundle } };
}
