import { JsonObject } from '../../platform/http/fields/fields.js';
import { IdentityTrustView } from '../../access/identity/identity.dto.js';
import { TRUST_FAULTS, type TrustVerdict } from './workload-trial.service.js';

export class TriedClaimsBody {
  /** The claims of a token, without its signature: nothing is given for them, and they are not kept. */
  @JsonObject(12_288, { example: { iss: 'https://token.actions.githubusercontent.com', repository: 'org/app' } })
  claims: Record<string, unknown>;
}

export class TrustVerdictView {
  trust: IdentityTrustView;
  accepted: boolean;
  /** The first reason where it does not accept them. */
  fault?: (typeof TRUST_FAULTS)[number];
  /** The claim that does not fit. @example ref */
  claim?: string;
  /** What the trust wants of it. @example ["refs/tags/v*"] */
  wanted?: string[];
  /** What it is; empty: it is absent. @example ["refs/heads/main"] */
  given?: string[];
}

export class TriedTrustsView {
  items: TrustVerdictView[];

  static of(verdicts: readonly TrustVerdict[]): TriedTrustsView {
    return {
      items: verdicts.map(({ wanted, given, ...rest }) => ({
        ...rest,
        ...(wanted === undefined ? {} : { wanted: [...wanted] }),
        ...(given === undefined ? {} : { given: [...given] }),
      })),
    };
  }
}
