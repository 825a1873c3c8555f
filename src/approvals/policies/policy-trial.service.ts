import { Injectable } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { type PolicySubject, ApprovalSubjectsService } from './approval-subject.port.js';
import type { KeyUseToApprove } from './key-use.port.js';
import { jointVerdictOf, type PolicyVerdict, type PolicyRules } from './policy-judgement.js';
import { PolicyEvaluation } from './policy-evaluation.js';

/** A policy that is tested before it is created. */
interface DraftPolicy extends PolicyRules {
  readonly name: string;
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
}

/** A subject that one approval would cover. */
export interface TriedSubject {
  readonly kind: PolicySubject;
  /** Contains at least one use; for a certificate, one use for each principal. */
  readonly uses: readonly KeyUseToApprove[];
}

export interface PolicyTrial {
  /** The draft to evaluate; if undefined, all current policies are evaluated. */
  readonly policy: DraftPolicy | undefined;
  readonly subjects: readonly TriedSubject[];
  /** Past signing requests and SSH certificates, evaluated as if they were requested now. */
  readonly requestIds: readonly string[];
  readonly certificateIds: readonly string[];
}

/** The result for one subject. */
export interface TriedUse {
  readonly key: string;
  readonly requestId?: string | undefined;
  readonly certificateId?: string | undefined;
  readonly needsApproval: boolean;
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
  readonly verdicts: readonly { readonly policy: string; readonly verdict: PolicyVerdict }[];
}

/** PolicyTrialService tests policies on hypothetical or past uses of keys, with the same function that evaluates real uses. No approval is requested. */
@Injectable()
export class PolicyTrialService {
  constructor(
    private readonly db: DataSource,
    private readonly evaluation: PolicyEvaluation,
    private readonly subjects: ApprovalSubjectsService,
  ) {}

  /**
   * Returns one result for each subject, then one for each past request and certificate, in the given order. Throws a Problem if a request or certificate is
   * missing.
   */
  async try(caller: Caller, { policy, subjects, requestIds, certificateIds }: PolicyTrial): Promise<TriedUse[]> {
    const [requests, certificates] = await Promise.all([
      this.past('signing-request', caller, requestIds),
      this.past('ssh-certificate', caller, certificateIds),
    ]);
    const all = [
      ...subjects.map((tried) => ({ tried })),
      ...requests.map((tried, i) => ({ tried, requestId: requestIds[i] })),
      ...certificates.map((tried, i) => ({ tried, certificateId: certificateIds[i] })),
    ];
    const results: TriedUse[] = [];
    for (const { tried, ...of } of all) {
      // Yield to other calls, because the evaluation of a use can occupy the only thread for several milliseconds.
      await turn();
      results.push({ key: tried.uses[0]?.key ?? '', ...of, ...(await this.judged(policy, tried)) });
    }
    return results;
  }

  private async past(kind: PolicySubject, caller: Caller, ids: readonly string[]): Promise<TriedSubject[]> {
    const found = (await this.subjects.of(kind).usesOf?.(this.db.manager, caller, ids)) ?? [];
    return found.map((uses) => ({ kind, uses }));
  }

  private async judged(
    policy: DraftPolicy | undefined,
    { kind, uses }: TriedSubject,
  ): Promise<Pick<TriedUse, 'needsApproval' | 'stages' | 'verdicts'>> {
    if (policy !== undefined) {
      const verdict = jointVerdictOf(policy, kind, uses);
      const stages = verdict.applies ? policy.stages : [];
      return { needsApproval: verdict.applies, stages, verdicts: [{ policy: policy.name, verdict }] };
    }
    const { demand, verdicts } = await this.evaluation.explain(kind, uses);
    const named = verdicts.map((one) => ({ policy: one.policy.name, verdict: one.verdict }));
    return { needsApproval: demand !== undefined, stages: demand?.stages ?? [], verdicts: named };
  }
}
