import { Injectable } from '@nestjs/common';
import { Problem } from '../../../platform/errors/problem.js';
import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { Seal } from '../../../platform/sealing/seal.js';
import { NewKey } from '../custody/new-key.js';
import { planSha256, RotationClearance } from '../planning/rotation-clearance.js';
import { coveredPlan } from '../planning/rotation-document.js';
import { RotationPrecheck } from './rotation-precheck.js';
import { RotationSteps } from './rotation-steps.js';
import { hasReached, type StepName } from '../model/rotation-state.js';
import type { TargetPlan } from '../model/rotation-target.entity.js';
import { FencedOff, StepFailure, type StepResult, type Work } from '../model/rotation-work.js';

/** Seal purpose of file snapshots. The seal is bound to the target. */
const SNAPSHOT = 'ssh rotation snapshot';
/** Codes of faults that are never retried automatically, because the host presented an unexpected key or must not be changed. */
const FINAL_CODES = [
  'host.key-changed',
  'host.key-unknown',
  'host.key-rejected',
  'host.missing',
  'host.not-managed',
  'rotation.holder-unproven',
];
/** Codes of faults that may be temporary, because the host has not rejected anything. */
const PASSING_CODES = [
  'host.unreachable',
  'host.timeout',
  'host.lost',
  'host.throttled',
  'rotation.unclear',
  'rotation.holder',
  'host.file-changed',
];

/** StepExecutor performs one step of a target. */
@Injectable()
export class StepExecutor {
  constructor(
    private readonly clearance: RotationClearance,
    private readonly precheck: RotationPrecheck,
    private readonly steps: RotationSteps,
    private readonly newKey: NewKey,
    private readonly seals: Seal,
  ) {}

  /** Performs a step and returns the outcome, including failures. Throws only FencedOff. */
  async perform(step: StepName, work: Work): Promise<StepResult> {
    try {
      if (step === 'precheck') return await this.check(work);
      await (step === 'add'
        ? this.clearance.assertCovers(work.rotation)
        : this.clearance.assertApproved(work.rotation));
      await this.clearance.assertReached(work.rotation, work.target);
      if (dependsOnRights(step, work)) await this.assertRights(work);
      if (step === 'roll-back') return await this.steps.rollBack(work);
      const { next } = work;
      if (next === undefined) throw new Error('the new key does not exist yet');
      return await this.steps.perform(step, { ...work, next });
    } catch (error) {
      return resultOf(error, work);
    }
  }

  /**
   * Asserts that the requester still has the right to rotate keys. If the right was lost, removes the limit of the old key, so that the old key does not expire
   * before a user decides.
   */
  private async assertRights(work: Work): Promise<void> {
    try {
      await this.clearance.assertRights(work.rotation, 'BLOCKED');
    } catch (error) {
      const { target, next } = work;
      if (next !== undefined && hasReached(target.state, 'PROMOTED')) await this.steps.keepOld({ ...work, next });
      throw error;
    }
  }

  private async check(work: Work): Promise<StepResult> {
    const { rotation, target } = work;
    const isSurvey = rotation.status === 'SURVEYING';
    if (!isSurvey) await this.clearance.assertCovers(rotation);
    const { plan, snapshot } = await this.precheck.check(work);
    if (!isSurvey) assertAsShown(work, plan);
    if (!rotation.dryRun && !isSurvey && work.next === undefined) await this.newKey.make(work);
    return {
      kind: 'done',
      state: 'PRECHECKED',
      outcome: rotation.dryRun ? 'READY' : 'OPEN',
      ...(isSurvey ? { dueIn: null } : {}),
      change: { plan, snapshot: this.seals.close(SNAPSHOT, target.id, snapshot) },
      detail: {
        files: plan.files.map(({ path, sha256 }) => ({ path, sha256 })),
        warnings: plan.warnings,
        planSha256: planSha256(plan),
      },
    };
  }
}

/**
 * Reports whether a step requires that the requester still has the right to rotate keys. The right is required before the new key becomes permanent and, if
 * only a user holds the new key, before each step that writes the new key or removes the old key.
 */
function dependsOnRights(step: StepName, { rotation }: Work): boolean {
  if (step === 'make-permanent') return true;
  return rotation.custody === 'human' && step !== 'roll-back' && step !== 'prove';
}

/** Asserts that the files and changes still match the plan that the approvers saw. */
function assertAsShown({ rotation, target }: Work, plan: TargetPlan): void {
  if (rotation.approvalDemand === null) return;
  const shown = target.plan;
  if (shown !== null && canonicalJson(coveredPlan(plan)) === canonicalJson(coveredPlan(shown))) return;
  const changed = plan.files.filter(
    (file) => !shown?.files.some((one) => one.path === file.path && one.sha256 === file.sha256),
  );
  const what =
    changed.length === 0
      ? 'The account differs from what'
      : `${changed.map(({ path }) => path).join(', ')} differs from what`;
  throw new StepFailure(
    'FAILED_PRECHECK',
    'rotation.not-as-shown',
    `${what} the approvers were shown: it was changed after the request. Request the rotation again.`,
  );
}

function resultOf(error: unknown, { target }: Work): StepResult {
  if (error instanceof FencedOff) throw error;
  if (error instanceof StepFailure)
    return { kind: 'failed', outcome: error.outcome, code: error.code, reason: error.message };
  const problem =
    error instanceof Problem
      ? error
      : new Problem('unavailable', 'rotation.internal', 'The attempt failed with an internal error.', {
          cause: error,
        });
  const { code, message: reason, kind } = problem;
  const isTouched = hasReached(target.state, 'ADDED');
  // An unchanged target is abandoned immediately. Any other target needs another attempt, either to continue or to roll back.
  const isPassing =
    PASSING_CODES.includes(code) || kind === 'unavailable' || (isTouched && !FINAL_CODES.includes(code));
  if (isPassing) return { kind: 'retry', code, reason };
  return { kind: 'failed', outcome: isTouched ? 'BLOCKED' : 'FAILED_PRECHECK', code, reason };
}
