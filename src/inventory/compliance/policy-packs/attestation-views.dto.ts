import { ApiProperty } from '@nestjs/swagger';
import type { Page } from '../../../platform/http/cursors.js';
import type { Attestation, AttestationEvidence, RequirementResult } from './attestation.entity.js';
import type { Evaluated } from './policy-judge.service.js';
import type { PolicyPack, PolicyRequirement } from './policy-pack.js';

const CHECKS = ['stance', 'query', 'review'];

export class PolicyRequirementView {
  /** @example 12.3.3-STRATEGY */
  identifier: string;
  /** @example "A strategy is documented" */
  text: string;
  /**
   * `stance`: algorithms are compared with an authority's position; `query`: no asset may match the query; `review`: the requirement is assessed manually.
   */
  @ApiProperty({ enum: CHECKS }) check: string;
  /** Query that no asset may match. Present only if `check` is `query`. @example 'kind=protocol and level>=HIGH' */
  q?: string;
  /**
   * Query that selects the assets to which the requirement applies. Present only if `check` is `query` and the requirement does not apply to all assets.
   * @example kind=protocol
   */
  among?: string;

  static of({ identifier, text, check }: PolicyRequirement): PolicyRequirementView {
    const { kind, ...query } = check.kind === 'query' ? check : { kind: check.kind };
    return { identifier, text, check: kind, ...query };
  }
}

export class PolicyPackView {
  /** @example pci-dss-12.3.3 */
  id: string;
  /** @example "PCI DSS 12.3.3" */
  name: string;
  /** @example 4.0.1 */
  version: string;
  /** @example "PCI SSC" */
  owner: string;
  /** @example "Cipher suites and protocols are reviewed every 12 months" */
  description: string;
  /** Maximum validity of an attestation, in days. @example 365 */
  reviewEveryDays: number;
  requirements: PolicyRequirementView[];
  /** Value for `If-Match`. Present only for custom packs, because built-in packs cannot be changed. @example 1 */
  revision?: number;

  static of({ requirements, ...pack }: PolicyPack): PolicyPackView {
    const { id, name, version, owner, description, reviewEveryDays, revision } = pack;
    const views = requirements.map((requirement) => PolicyRequirementView.of(requirement));
    return { id, name, version, owner, description, reviewEveryDays, requirements: views, revision };
  }
}

export class PolicyPackList {
  /** Policy packs, starting with the built-in packs. */
  items: PolicyPackView[];
  /** Always null: the page contains all packs. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(packs: readonly PolicyPack[]): PolicyPackList {
    return { items: packs.map((pack) => PolicyPackView.of(pack)), nextCursor: null };
  }
}

export class AcceptedUntilView {
  /** @example 12 */
  assets: number;
  /** Earliest date until which the authority accepts an affected algorithm. @example 2031-12-31 */
  first: string;
}

export class RequirementResultView {
  /** @example CNSA-KE */
  identifier: string;
  /** Number of assets to which the requirement applies. @example 40 */
  assets: number;
  /** @example 3 */
  violations: number;
  /** IDs of up to 10 assets that violate the requirement. @example ["0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01"] */
  examples: string[];
  /**
   * Assets that do not violate the requirement yet but will in the future, and the first date after which one of these assets will violate the requirement. Not
   * present if no asset will violate the requirement in the future.
   */
  acceptedUntil?: AcceptedUntilView;
  /** Score from 0 to 1; null for a requirement that has not been assessed. @example 0.925 */
  score: number | null;
  /** @example "3 of 40 assets violate the requirement." */
  rationale: string;

  static of({ examples, ...result }: RequirementResult): RequirementResultView {
    return { ...result, examples: [...examples] };
  }
}

export class EvaluationView {
  pack: PolicyPackView;
  /** Day for which deadlines were evaluated. @example 2031-01-01 */
  asOf: string;
  results: RequirementResultView[];
  /** Mean score of the assessed requirements, from 0 to 1. @example 0.98 */
  score: number;

  static of({ pack, asOf, results, score }: Omit<Evaluated, 'at'>): EvaluationView {
    return { pack: PolicyPackView.of(pack), asOf, results: results.map((one) => RequirementResultView.of(one)), score };
  }
}

export class AttestationEvidenceView {
  /** @example "Minutes of the review of 2026-03-12" */
  description: string;
  /** @example https://wiki.example.com/crypto-review */
  url?: string;

  static of({ description, url }: AttestationEvidence): AttestationEvidenceView {
    return { description, ...(url === undefined ? {} : { url }) };
  }
}

export class AttestationView extends EvaluationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Query that selects the assets; null for the whole inventory. @example label=pci */
  scope: string | null;
  /** @example "We reviewed all cipher suites and protocols in use" */
  statement: string;
  /** @example "Ada Lovelace" */
  reviewer: string;
  evidence: AttestationEvidenceView[];
  createdAt: Date;
  expiresAt: Date;
  /** Whether the attestation has expired. */
  expired: boolean;

  static ofRow(row: Attestation, now: Date): AttestationView {
    const { id, scope, statement, reviewer, createdAt, expiresAt } = row;
    const evidence = row.evidence.map((one) => AttestationEvidenceView.of(one));
    const said = { id, scope, statement, reviewer, evidence, createdAt, expiresAt, expired: expiresAt <= now };
    return Object.assign(EvaluationView.of(row), said);
  }
}

export class AttestationPage {
  items: AttestationView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<Attestation>, now: Date): AttestationPage {
    return { items: items.map((row) => AttestationView.ofRow(row, now)), nextCursor };
  }
}
