import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { KeyUseToApprove } from '../subjects/key-use.port.js';
import { ApprovalSubjectsService } from '../subjects/approval-subjects.service.js';
import { type PolicyVerdict, verdictOf, type PolicyRules } from './policy-judgement.js';
import { PolicyEvaluation } from './policy-evaluation.js';

/** A policy that is tried before it is made. */
interface DraftPolicy extends PolicyRules {
  readonly name: string;
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
}

export interface PolicyTrial {
  /** Those of the policies of this moment, or those of the draft alone. */
  readonly policy: DraftPolicy | undefined;
  readonly uses: readonly KeyUseToApprove[];
  /** Past signing requests to be judged as if they came now. */
  readonly requestIds: readonly string[];
}

/** What would become of one use. */
export interface TriedUse {
  readonly key: string;
  readonly requestId: string | undefined;
  readonly needsApproval: boolean;
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
  readonly verdicts: readonly { readonly policy: string; readonly verdict: PolicyVerdict }[];
}

/** Tries policies on uses of keys that did not happen, or happened before: by the same rule by which they are judged, and without asking anybody. */
@Injectable()
export class PolicyTrialService {
  constructor(
    private readonly db: DataSource,
    private readonly evaluation: PolicyEvaluation,
    private readonly subjects: ApprovalSubjectsService,
  ) {}

  /** One result for each use, then one for each past request, in their order. Problem `signing-request.missing`. */
  async try(caller: Caller, { policy, uses, requestIds }: PolicyTrial): Promise<TriedUse[]> {
    const past = (await this.subjects.of('signing-request').usesOf?.(this.db.manager, caller, requestIds)) ?? [];
    const all = [
      ...uses.map((use) => ({ use, requestId: undefined })),
      ...past.map((use, i) => ({ use, requestId: requestIds[i] })),
    ];
    return Promise.all(
      all.map(async ({ use, requestId }) => ({ key: use.key, requestId, ...(await this.judged(policy, use)) })),
    );
  }

  private async judged(
    policy: DraftPolicy | undefined,
    use: KeyUseToApprove,
  ): Promise<Omit<TriedUse, 'key' | 'requestId'>> {
    if (policy !== undefined) {
      const verdict = verdictOf(policy, 'signing-request', use);
      const stages = verdict.applies ? policy.stages : [];
      return { needsApproval: verdict.applies, stages, verdicts: [{ policy: policy.name, verdict }] };
    }
    const { demand, verdicts } = await this.evaluation.explain('signing-request', use);
    const named = verdicts.map((one) => ({ policy: one.policy.name, verdict: one.verdict }));
    return { needsApproval: demand !== undefined, stages: demand?.stages ?? [], verdicts: named };
  }
}
