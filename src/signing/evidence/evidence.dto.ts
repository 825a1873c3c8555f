import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { createPublicKey } from 'node:crypto';
import { VerifiedIdentityView } from '../../access/identity/identity.dto.js';
import type { ProvenLeaf } from '../../audit/log/log-reader.js';
import { SigningRequestView } from '../signing-requests.dto.js';
import type { Evidence } from './evidence.service.js';
import type { WorkloadProof } from './workload-proof.reader.js';

export const EVIDENCE_TYPE = 'application/vnd.sealwright.evidence.v1+json';

export class EvidenceKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example release */
  name: string;
  /** @example 1 */
  version: number;
  /** @example ec-p256 */
  type: string;
  /** SubjectPublicKeyInfo, PEM. @example "-----BEGIN PUBLIC KEY-----" */
  publicKey: string;
  /** Attributes of the private key that the token reported when the key was generated. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { sensitive: true, neverExtractable: true } })
  attributes: object;
}

export class EvidenceLeafView {
  /** Index of the leaf in the log. @example 17 */
  index: number;
  /** `entry`: an audit entry. `record`: the record of the signature for Sigstore verifiers. */
  kind: 'entry' | 'record' | 'missing' | 'foreign';
  /** The bytes of the leaf, base64. @example eyJhY3Rpb24iOiJzaWduaW5nLnNpZ25lZCJ9 */
  data: string;
  /** Merkle audit path from the leaf to the root, base64 (RFC 6962 section 2.1.1). @example ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] */
  path: string[];

  static of({ index, kind, data, path }: ProvenLeaf): EvidenceLeafView {
    const bytes = Buffer.from(data ?? '').toString('base64');
    return { index, kind, data: bytes, path: path.map((one) => one.toString('base64')) };
  }
}

export class EvidenceLogView {
  /** @example localhost:9090/log */
  origin: string;
  /** Public key of the log (SubjectPublicKeyInfo, DER, base64). Compare the key with your copy. @example MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE */
  publicKey: string;
  /** Signed note over the tree that contains all listed leaves (C2SP tlog-checkpoint). @example "localhost:9090/log\n4711\n…" */
  checkpoint: string;
  /** Log entries about this request, oldest first. */
  leaves: EvidenceLeafView[];
  /** Log entries about the voters' sign-ins. The log entries about the votes reference these entries as `signIn`. Present only if approval was required. */
  signIns?: EvidenceLeafView[];
}

export class EvidenceApprovalView {
  /** The document that was approved for this request. The log entry `approval.requested` contains the hash of its canonical JSON or, for a batch, the root over all documents. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { action: 'sign', algorithm: 'sha256' } })
  shown: Record<string, unknown>;
  /** For a batch: index of the item in the manifest, starting at 0. @example 17 */
  place?: number;
  /** For a batch: Merkle audit path from this item to the manifest root, leaf to root, base64 (RFC 6962 section 2.1.1). @example ["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] */
  path?: string[];
}

export class EvidenceWorkloadView {
  identity: VerifiedIdentityView;
  /** Token as signed by the issuer. Omitted until the token has expired. @example eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwcyJ9.c2ln */
  token?: string;
  /** Time at which `token` becomes available. Absent if `token` is present. */
  tokenFrom?: Date;
  /** The issuer's key that verified the token, as published at the time of verification (JWK). */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { kty: 'EC', crv: 'P-256', x: 'f83O', y: 'x_FE' },
  })
  key: object;

  static of({ identity, token, tokenFrom, key }: WorkloadProof): EvidenceWorkloadView {
    const proof = token === undefined ? { tokenFrom } : { token };
    return { identity: VerifiedIdentityView.of(identity), ...proof, key };
  }
}

/** One file that proves a signature offline. */
export class EvidenceView {
  /** @example application/vnd.sealwright.evidence.v1+json */
  mediaType: string;
  request: SigningRequestView;
  key: EvidenceKeyView;
  log: EvidenceLogView;
  /** Present only if a policy required approval. */
  approval?: EvidenceApprovalView;
  /** Verified claims of the workload's token. Present only for workload requests. */
  workload?: EvidenceWorkloadView;
  /** Sigstore bundle v0.3 with the inclusion proof of its record. Present only for the formats sigstore-bundle and attestation. */
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json' },
  })
  bundle?: object;

  static of({ request, key, proofs, signIns, logKey, approved, workload, bundle }: Evidence): EvidenceView {
    const pem = createPublicKey({ key: key.publicKey, format: 'der', type: 'spki' });
    return {
      mediaType: EVIDENCE_TYPE,
      request: SigningRequestView.of(request),
      key: {
        id: key.keyId,
        name: key.name,
        version: key.version,
        type: key.type,
        publicKey: pem.export({ format: 'pem', type: 'spki' }).toString(),
        attributes: key.evidence ?? {},
      },
      log: {
        origin: logKey.origin,
        publicKey: logKey.publicKey.toString('base64'),
        checkpoint: proofs.note,
        leaves: proofs.leaves.map((leaf) => EvidenceLeafView.of(leaf)),
        ...(signIns.length === 0 ? {} : { signIns: signIns.map((leaf) => EvidenceLeafView.of(leaf)) }),
      },
      approval: approved,
      workload: workload && EvidenceWorkloadView.of(workload),
      bundle,
    };
  }
}
