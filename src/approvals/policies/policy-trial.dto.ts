import { viewOf } from '../../platform/http/fields/view-of.js';
import { Flag, IdRef, JsonObject, ListOf, Nested, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import type { Claims } from '../../access/identity/verified-identity.js';
import { signingUse, usesOfCertificate } from './key-use.port.js';
import { ApprovalPolicyBody, PolicyWarningView } from './approval-policies.dto.js';
import type { JudgedCondition, PolicyRules, PolicyVerdict } from './policy-judgement.js';
import { policyWarningsOf } from './policy-warnings.js';
import type { PolicyTrial, TriedSubject, TriedUse } from './policy-trial.service.js';

const CERTIFICATE_KINDS = ['user', 'host'] as const;

/** Content of an SSH certificate, which is evaluated instead of a signing request. */
export class TriedCertificateBody {
  /** Login names or host names. Each name is evaluated separately. @example ["deploy"] */
  @ListOf(Text(1, 255), { min: 1, max: 20 }) principals: string[];
  /** @example ann@example.org */
  @Optional(Text(1, 255)) keyId?: string;
  @Optional(OneOf(CERTIFICATE_KINDS)) kind?: 'user' | 'host' = 'user';
  /** Type of the certified key. @example ssh-ed25519 */
  @Optional(Text(1, 64)) keyType?: string = 'ssh-ed25519';
  /** Whether to evaluate the certificate as a renewal by its host. */
  @Optional(Flag()) renewal?: boolean = false;
}

/** A hypothetical use of a key. */
export class TriedUseBody {
  /** Name of the signing key or SSH authority. @example release */
  @Text(1, 64) key: string;
  /** @example sha256 */
  @Optional(Text(1, 16)) algorithm?: string = 'sha256';
  /** @example ecdsa-der */
  @Optional(Text(1, 32)) scheme?: string = 'ecdsa-der';
  /** @example raw */
  @Optional(Text(1, 32)) format?: string = 'raw';
  /** Metadata that the caller would send. */
  @Optional(JsonObject(8192, { example: { filename: 'app.tar.gz' } })) metadata?: Record<string, unknown>;
  /** ID of the caller, or of the person behind the caller. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(Text(1, 64)) caller?: string;
  /** The claims of a workload's token, as the issuer would sign the claims. If omitted, the caller is not a workload. */
  @Optional(JsonObject(12_288, { example: { repository: 'org/app', ref: 'refs/tags/v1.2' } }))
  claims?: Record<string, unknown>;
  /** Name of the trust that the token would match. @example 'app releases' */
  @Optional(Text(1, 100)) trust?: string;
  /** SSH certificate to evaluate. If omitted, a signing request is evaluated. */
  @Optional(Nested(TriedCertificateBody)) certificate?: TriedCertificateBody;

  toSubject(): TriedSubject {
    const { key, algorithm = 'sha256', scheme = 'ecdsa-der', format = 'raw', metadata = {}, caller } = this;
    const callers = caller === undefined ? [] : [caller];
    const identity = this.claims === undefined ? null : triedIdentity(this.claims, this.trust ?? '');
    if (this.certificate === undefined) {
      const use = signingUse({ key, algorithm, scheme, format, metadata, callers, identity });
      return { kind: 'signing-request', uses: [use] };
    }
    const { principals, keyId = '', kind = 'user', keyType = 'ssh-ed25519', renewal = false } = this.certificate;
    const said = { authority: key, kind, keyType, keyId, principals, isRenewal: renewal };
    return { kind: 'ssh-certificate', uses: usesOfCertificate({ ...said, callers, identity }) };
  }
}

function triedIdentity(claims: Claims, name: string) {
  return { id: '', trust: { id: '', name }, claims, tokenSha256: '', keyThumbprint: '' };
}

export class PolicyTrialBody {
  /** A policy to test on its own. The policy is not stored. If omitted, all current policies are tested. */
  @Optional(Nested(ApprovalPolicyBody)) policy?: ApprovalPolicyBody;
  @Optional(ListOf(TriedUseBody, { max: 100 })) uses?: TriedUseBody[];
  /**
   * IDs of signing requests, evaluated as if they were made now. Requests of other users require `audit:read`.
   * @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"]
   */
  @Optional(ListOf(IdRef(), { max: 100 })) requestIds?: string[];
  /**
   * IDs of SSH certificates, evaluated as if they were requested now. Certificates of other users require `audit:read`.
   * @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"]
   */
  @Optional(ListOf(IdRef(), { max: 100 })) certificateIds?: string[];

  toTrial(): PolicyTrial {
    const subjects = (this.uses ?? []).map((use) => use.toSubject());
    const { requestIds = [], certificateIds = [] } = this;
    return { policy: this.policy?.toOrder(), subjects, requestIds, certificateIds };
  }
}

export class JudgedConditionView {
  /** @example verified.ref */
  fact: string;
  op: 'in' | 'not-in';
  /** @example ["refs/tags/v*"] */
  values: string[];
  /** Values of the fact in the use; empty if there are none. @example ["refs/tags/v1.2"] */
  given: string[];
  holds: boolean;

  static of(row: JudgedCondition): JudgedConditionView {
    const { values, given } = row;
    return viewOf(JudgedConditionView, row, { values: [...values], given: [...given] });
  }
}

export class PolicyVerdictView {
  /** Name of the policy. @example 'Release signing' */
  policy: string;
  applies: boolean;
  /** Whether the policy covers this key. */
  guards: boolean;
  conditions: JudgedConditionView[];
  unless: JudgedConditionView[];

  static of(policy: string, { applies, guards, conditions, unless }: PolicyVerdict): PolicyVerdictView {
    return {
      policy,
      applies,
      guards,
      conditions: conditions.map((one) => JudgedConditionView.of(one)),
      unless: unless.map((one) => JudgedConditionView.of(one)),
    };
  }
}

export class TriedStageView {
  /** Name of the approver group. @example 'Release managers' */
  group: string;
  /** @example 2 */
  threshold: number;
}

export class TriedUseView {
  /** @example release */
  key: string;
  /** ID of the signing request that was evaluated. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  requestId?: string;
  /** ID of the SSH certificate whose request was evaluated. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  certificateId?: string;
  needsApproval: boolean;
  /** Groups that would have to approve; empty if no approval is needed. */
  stages: TriedStageView[];
  policies: PolicyVerdictView[];

  static of({ key, requestId, certificateId, needsApproval, stages, verdicts }: TriedUse): TriedUseView {
    return {
      key,
      ...(requestId === undefined ? {} : { requestId }),
      ...(certificateId === undefined ? {} : { certificateId }),
      needsApproval,
      stages: stages.map(({ group, threshold }) => ({ group, threshold })),
      policies: verdicts.map(({ policy, verdict }) => PolicyVerdictView.of(policy, verdict)),
    };
  }
}

export class PolicyTrialView {
  results: TriedUseView[];
  /** Ways in which callers can bypass the submitted policy. */
  warnings: PolicyWarningView[];

  static of(tried: readonly TriedUse[], policy: PolicyRules | undefined): PolicyTrialView {
    const warnings = policy === undefined ? [] : policyWarningsOf(policy);
    return {
      results: tried.map((one) => TriedUseView.of(one)),
      warnings: warnings.map((one) => PolicyWarningView.of(one)),
    };
  }
}
