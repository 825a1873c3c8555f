import { JsonObject } from '../../platform/http/fields/fields.js';
import { IdentityTrustView } from '../../access/identity/identity.dto.js';
import { TRUST_FAULTS, type TrustVerdict } from './workload-trial.service.js';

export class TriedClaimsBody {
  /** The claims of a token, without its signature. The claims are not stored, and no token is issued. */
  @JsonObject(12_288, { example: { iss: 'https://token.actions.githubusercontent.com', repository: 'org/app' } })
  claims: Record<string, unknown>;
}

export class TrustVerdictView {
  trust: IdentityTrustView;
  accepted: boolean;
  /** First reason why the trust does not accept the claims. */
  fault?: (typeof TRUST_FAULTS)[number];
  /** The claim that does not match. @example ref */
  claim?: string;
  /** The value that the trust requires. @example ["refs/tags/v*"] */
  wanted?: string[];
  /** The actual value; empty if the claim is missing. @example ["refs/heads/main"] */
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
