import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length, Matches } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { Flag, Int, ListOf, Name, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { AreClaimPatterns } from '../../access/identity/identity.dto.js';
import { isVerifiedFact } from '../../access/identity/verified-identity.js';
import { POLICY_SUBJECTS, type PolicySubject } from './approval-subject.port.js';
import type { PolicyOrder } from './approval-policy.entity.js';
import type { CoveringPolicy } from './policy-checks.js';
import { POLICY_WARNINGS, type PolicyWarning, type PolicyWarningCode, policyWarningsOf } from './policy-warnings.js';

const DAY = 24 * 3600;

export class PolicyStageBody {
  /** ID or name of an approver group. @example 'Release managers' */
  @Text(1, 100) group: string;
  /** Number of group members who must approve. @example 2 */
  @Int(1, 100) threshold: number;
}

const IsFact = (): PropertyDecorator =>
  applyDecorators(
    IsString(),
    Length(1, 100),
    Matches(/^(?:algorithm|scheme|format|caller|trust|metadata\..+|verified\..+)$/),
  );

export class PolicyConditionBody {
  /**
   * Name of the fact: `algorithm`, `scheme`, `format`, `caller` (ID of an API key, an OAuth client, a trust or a user), `metadata.<name>` (provided by
   * the caller), `trust` or `verified.<claim>` (verified claim of a workload's token).
   * @example format
   */
  @IsFact() fact: string;
  @OneOf(['in', 'not-in']) op: 'in' | 'not-in';
  /**
   * Values with which the fact is compared. A value that ends in `*` is a prefix. For `trust` and `verified.<claim>`, `*` matches characters within a
   * segment, and a trailing `**` matches the rest of the path.
   * @example ["authenticode"]
   */
  @ListOf(Text(1, 200), { min: 1, max: 50 })
  @AreClaimPatterns((body) => isVerifiedFact((body as PolicyConditionBody).fact))
  values: string[];
}

/** A condition that exempts a use from a policy. The fact must be verified or authenticated, because callers choose all other facts. */
export class PolicyExceptionBody extends PolicyConditionBody {
  /** A fact that the service has verified or authenticated: `verified.<claim>`, `trust` or `caller`. @example verified.repository */
  @ApiProperty({ example: 'verified.repository' })
  @IsFact()
  @Matches(/^(?:caller|trust|verified\.)/, {
    message: 'must be caller, trust or verified.<claim>, because callers choose all other facts',
  })
  declare fact: string;
}

export class ApprovalPolicyBody {
  /** @example 'Release signing' */
  @Name(1, 100) name: string;
  /** Kind of request that needs approval. */
  @Optional(OneOf(POLICY_SUBJECTS, { default: 'signing-request' })) subject?: PolicySubject;
  /** Names of the keys to which the policy applies; `*` means all keys. @example ["release"] */
  @ListOf(Text(1, 64), { min: 1, max: 200, unique: true }) keys: string[];
  /** Stages in order. The group of a stage can vote once the previous stage has passed. */
  @ListOf(PolicyStageBody, { min: 1, max: 10 }) stages: PolicyStageBody[];
  /** Seconds until the approval expires. @example 86400 */
  @Optional(Int(1, 30 * DAY)) expiresInSeconds?: number = DAY;
  /** Whether approvers must give a reason for their vote. */
  @Optional(Flag()) commentRequired?: boolean = false;
  /** Number of rejections that end the approval. @example 1 */
  @Optional(Int(1, 100)) rejectThreshold?: number = 1;
  /**
   * The policy applies if all conditions hold. A condition on a missing fact evaluates to true. Conditions on `format`, `scheme` and `algorithm` hold
   * for every signature over the caller's own digest (`raw`, `sigstore-bundle`, `dsse`, `openpgp`), because such a signature can be embedded in any
   * format.
   */
  @Optional(ListOf(PolicyConditionBody, { max: 20 })) conditions?: PolicyConditionBody[];
  /** The policy does not apply if all of these exceptions hold. An exception on a missing fact evaluates to false. */
  @Optional(ListOf(PolicyExceptionBody, { max: 20 })) unless?: PolicyExceptionBody[];

  toOrder(): PolicyOrder {
    return {
      name: this.name,
      subject: this.subject ?? 'signing-request',
      keys: this.keys,
      stages: this.stages.map(({ group, threshold }) => ({ group, threshold })),
      expiresInSeconds: this.expiresInSeconds ?? DAY,
      commentRequired: this.commentRequired ?? false,
      rejectThreshold: this.rejectThreshold ?? 1,
      conditions: (this.conditions ?? []).map(({ fact, op, values }) => ({ fact, op, values })),
      unless: (this.unless ?? []).map(({ fact, op, values }) => ({ fact, op, values })),
    };
  }
}

export class PolicyStageView {
  /** ID of the approver group. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  group: string;
  /** @example 2 */
  threshold: number;
}

export class PolicyWarningView {
  @ApiProperty({ enum: POLICY_WARNINGS, example: 'format-condition' }) code: PolicyWarningCode;
  /** Fact of the condition or exception. @example format */
  fact: string;
  /**
   * How callers can bypass the policy, and how to prevent it. @example 'Callers choose the format, so a request for jws, attestation bypasses this policy. Remove the
   * condition, or restrict the formats of the key.'
   */
  detail: string;

  static of(row: PolicyWarning): PolicyWarningView {
    return viewOf(PolicyWarningView, row);
  }
}

export class ApprovalPolicyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'Release signing' */
  name: string;
  subject: PolicySubject;
  /** Names of the keys to which the policy applies; `*` means all keys. @example ["release"] */
  keys: string[];
  /** Keys that the policy currently covers. For SSH keys, the list includes the successors of the keys in `keys`. @example ["release"] */
  coveredKeys: string[];
  stages: PolicyStageView[];
  /** @example 86400 */
  expiresInSeconds: number;
  commentRequired: boolean;
  /** @example 1 */
  rejectThreshold: number;
  conditions: PolicyConditionBody[];
  unless: PolicyExceptionBody[];
  /** Ways in which callers can bypass the policy, and exceptions that never hold. */
  warnings: PolicyWarningView[];
  /** Incremented on every change. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of({ policy, coveredKeys }: CoveringPolicy): ApprovalPolicyView {
    const { id, name, subject, keys, expiresInSeconds, commentRequired, rejectThreshold, revision: version } = policy;
    return {
      id,
      name,
      subject,
      keys,
      coveredKeys: [...coveredKeys],
      stages: policy.stages.map(({ groupId, threshold }) => ({ group: groupId, threshold })),
      expiresInSeconds,
      commentRequired,
      rejectThreshold,
      conditions: policy.conditions.map(({ fact, op, values }) => ({ fact, op, values: [...values] })),
      unless: policy.unless.map(({ fact, op, values }) => ({ fact, op, values: [...values] })),
      warnings: policyWarningsOf(policy).map((one) => PolicyWarningView.of(one)),
      version,
      createdAt: policy.createdAt,
      updatedAt: policy.updatedAt,
    };
  }
}

export class ApprovalPolicyPage extends PageOf(ApprovalPolicyView) {}
