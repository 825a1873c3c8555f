import { JsonObject, OneOf } from '../../platform/http/fields/fields.js';
import { RULE_FAULTS, type RuleVerdict } from './login-principals.js';
import { LOGIN_SUBJECTS, type LoginSubject } from '../certificate-authority/ssh-login-rule.entity.js';

/** TriedCallerBody describes a caller as input to the rules. */
export class TriedCallerBody {
  @OneOf(LOGIN_SUBJECTS) subject: LoginSubject;
  /** Claims in a workload's token, or `email`, `sub` and `provider` of a user. The claims are not stored. */
  @JsonObject(12_288, { example: { email: 'ann@example.org' } }) claims: Record<string, unknown>;
}

export class TriedRuleView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'deploy jobs' */
  name: string;
}

export class RuleVerdictView {
  rule: TriedRuleView;
  accepted: boolean;
  /** First reason why the rule would not issue a certificate. */
  fault?: (typeof RULE_FAULTS)[number];
  /** Name of the claim that does not meet the condition. @example ref */
  claim?: string;
  /** Claim values that the rule accepts. @example ["refs/tags/v*"] */
  wanted?: string[];
  /** Actual values of the claim. Empty if the claim is absent. @example ["refs/heads/main"] */
  given?: string[];
  /** Reason why no principal can be derived. @example 'Rule deploy-jobs requires exactly one value of the team claim.' */
  detail?: string;
  /** Principals of the certificate. @example ["deploy"] */
  principals: string[];
}

export class TriedRulesView {
  items: RuleVerdictView[];

  static of(verdicts: readonly RuleVerdict[]): TriedRulesView {
    return {
      items: verdicts.map(({ wanted, given, principals, ...rest }) => ({
        ...rest,
        ...(wanted === undefined ? {} : { wanted: [...wanted] }),
        ...(given === undefined ? {} : { given: [...given] }),
        principals: [...principals],
      })),
    };
  }
}
