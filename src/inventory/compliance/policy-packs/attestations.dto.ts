import { IsNumber, IsOptional, IsString, IsUrl, Length, Matches, Max, Min, ValidateIf } from 'class-validator';
import { Day, Int, ListOf, Moment, Name, Optional, Text } from '../../../platform/http/fields/fields.js';
import { PageQuery } from '../../../platform/http/page.js';
import type { AttestOrder } from './attestations.service.js';
import type { EvaluateOrder } from './policy-judge.service.js';
import type { PolicyPackOrder } from './policy-packs.service.js';
import type { PolicyCheck } from './policy-pack.js';

const MAX_ITEMS = 100;

export class ReviewBody {
  /** Identifier of a manually assessed requirement. @example 12.3.3-STRATEGY */
  @Text(1, 100) identifier: string;
  /** Degree to which the requirement is met, from 0 to 1. @example 1 */
  @IsNumber() @Min(0) @Max(1) score: number;
  /** @example "The migration plan was approved in March" */
  @Text(1, 2000) rationale: string;
}

export class AttestationEvidenceBody {
  /** @example "Minutes of the review of 2026-03-12" */
  @Text(1, 1000) description: string;
  /** @example https://wiki.example.com/crypto-review */
  @IsOptional() @IsUrl({ require_tld: false, protocols: ['https', 'http'] }) @Length(1, 1000) url?: string;
}

export class EvaluateBody {
  /** ID of a policy pack. @example pci-dss-12.3.3 */
  @Text(1, 100) pack: string;
  /** Query that selects the assets, in the syntax of the asset list. Defaults to the whole inventory. @example 'label=pci' */
  @Optional(Text(1, 2000)) scope?: string;
  /** Day for which deadlines are evaluated; defaults to today. @example 2031-01-01 */
  @Optional(Day()) asOf?: string;
  /** Assessments of the requirements that must be assessed manually. */
  @Optional(ListOf(ReviewBody, { max: MAX_ITEMS })) reviews?: ReviewBody[];

  toOrder(): EvaluateOrder {
    const { pack, scope, asOf, reviews = [] } = this;
    return { pack, scope, asOf, reviews };
  }
}

export class AttestBody extends EvaluateBody {
  /** @example "We reviewed all cipher suites and protocols in use" */
  @Text(1, 4000) statement: string;
  /** Name of the assessor; defaults to the caller. @example 'Ada Lovelace' */
  @Optional(Text(1, 200)) reviewer?: string;
  @Optional(ListOf(AttestationEvidenceBody, { max: MAX_ITEMS })) evidence?: AttestationEvidenceBody[];
  /** Time at which the attestation expires. Defaults to the latest time that the pack allows. */
  @Optional(Moment()) expiresAt?: Date;

  toAttest(): AttestOrder {
    const { statement, reviewer, evidence = [], expiresAt } = this;
    return { ...this.toOrder(), statement, reviewer, evidence, expiresAt };
  }
}

export class PolicyRequirementBody {
  /** @example CRYPTO-1 */
  @Matches(/^[\w.-]{1,100}$/, { message: '$property must contain only letters, digits, dots and hyphens' })
  identifier: string;
  /** @example "No RSA below 3072 bits" */
  @Text(1, 2000) text: string;
  /** Query that no asset may match. If omitted, the requirement is assessed manually. @example 'family=RSA and bits<3072' */
  @ValidateIf(({ q, among }: PolicyRequirementBody) => q !== undefined || among !== undefined)
  @IsString()
  @Length(1, 2000)
  q?: string;
  /** Query that selects the assets to which the requirement applies; defaults to all assets. Requires `q`. @example 'family=RSA' */
  @ValidateIf(({ among }: PolicyRequirementBody) => among !== undefined) @IsString() @Length(1, 2000) among?: string;
}

export class PolicyPackBody {
  /** Unique name of the policy pack. @example 'Our crypto policy' */
  @Name(1, 100) name: string;
  /** @example 1.0 */
  @Text(1, 100) version: string;
  /** @example 'Example Inc.' */
  @Text(1, 200) owner: string;
  /** @example 'Baseline for all teams' */
  @Text(1, 2000) description: string;
  /** Maximum validity of an attestation, in days. @example 365 */
  @Int(1, 3660) reviewEveryDays: number;
  @ListOf(PolicyRequirementBody, { min: 1, max: MAX_ITEMS }) requirements: PolicyRequirementBody[];

  toPack(): PolicyPackOrder {
    const { name, version, owner, description, reviewEveryDays } = this;
    const requirements = this.requirements.map(({ identifier, text, q, among }) => {
      const check: PolicyCheck = q === undefined ? { kind: 'review' } : { kind: 'query', q, among };
      return { identifier, text, check };
    });
    return { name, version, owner, description, reviewEveryDays, requirements };
  }
}

export class PolicyPackParam {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Text(1, 100) id: string;
}

export class AttestationsQuery extends PageQuery {
  /** ID of a policy pack. @example pci-dss-12.3.3 */
  @Optional(Text(1, 100)) pack?: string;
}

export class SigningKeyQuery {
  /** Name or ID of the signing key. It must be an EC or RSA key that signs without approval. @example default */
  @Text(1, 64) key: string;
}
