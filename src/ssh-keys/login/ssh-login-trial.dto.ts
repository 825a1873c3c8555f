import { JsonObject, OneOf } from '../../platform/http/fields/fields.js';
import { RULE_FAULTS, type RuleVerdict } from './login-principals.js';
import { LOGIN_SUBJECTS, type LoginSubject } from '../certificate-authority/ssh-login-rule.entity.js';

/** A caller as a rule sees one. */
export class TriedCallerBody {
  @OneOf(LOGIN_SUBJECTS) subject: LoginSubject;
  /** The claims of a workload's token, or `email`, `sub` and `provider` of a person. They are not kept. */
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
  /** The first reason where it gives nothing. */
  fault?: (typeof RULE_FAULTS)[number];
  /** The claim that does not fit. @example ref */
  claim?: string;
  /** What the rule wants of it. @example ["refs/tags/v*"] */
  wanted?: string[];
  /** What it is; empty: it is absent. @example ["refs/heads/main"] */
  given?: string[];
  /** Why no principal can be made. @example 'The rule "deploy jobs" needs one value of the claim team.' */
  detail?: string;
  /** What would stand in the certificate. @example ["deploy"] */
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
