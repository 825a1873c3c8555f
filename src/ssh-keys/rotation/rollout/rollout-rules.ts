import { hasReached, type RotationStatus, type TargetOutcome } from '../model/rotation-state.js';
import type { RotationTarget } from '../model/rotation-target.entity.js';
import type { Rotation } from '../model/rotation.entity.js';

/** RotationProgress summarizes the targets of a rotation. */
export interface RotationProgress {
  readonly all: readonly RotationTarget[];
  readonly open: readonly RotationTarget[];
  /** Open targets on which both keys are accepted permanently, waiting for the handover. */
  readonly waiting: RotationTarget[];
  readonly lastWave: number;
  has(outcome: TargetOutcome): boolean;
  sizeOf(wave: number): number;
  /** Returns the number of failures in the wave and all earlier waves. */
  failedIn(wave: number): number;
  /** Reports whether every target in the wave and all earlier waves is finished or waiting. */
  isThrough(wave: number): boolean;
}

/** RotationMove is a new status of a rotation, with the reason. */
export interface RotationMove {
  readonly status: RotationStatus;
  readonly code?: string;
  readonly reason?: string;
}

const FAILURES: readonly TargetOutcome[] = ['FAILED_PRECHECK', 'BLOCKED', 'ROLLED_BACK', 'CRITICAL'];
export const RIGHTS_LOST = 'rotation.rights-lost';
/** Failure codes of one account that affect all accounts of the rotation. */
const HALTING_CODES = ['rotation.holder-unproven', RIGHTS_LOST];

export function progressOf(all: readonly RotationTarget[]): RotationProgress {
  const upTo = (wave: number) => all.filter((target) => target.wave <= wave);
  return {
    all,
    open: all.filter(({ outcome }) => outcome === 'OPEN'),
    waiting: all.filter(({ outcome, state }) => outcome === 'OPEN' && state === 'PERMANENT'),
    lastWave: Math.max(0, ...all.map(({ wave }) => wave)),
    has: (wanted) => all.some(({ outcome }) => outcome === wanted),
    sizeOf: (wave) => all.filter((target) => target.wave === wave).length,
    failedIn: (wave) => upTo(wave).filter(({ outcome }) => FAILURES.includes(outcome)).length,
    isThrough: (wave) => upTo(wave).every(({ outcome, state }) => outcome !== 'OPEN' || hasReached(state, 'PERMANENT')),
  };
}

/**
 * Returns the halt that is required before the rotation can continue, if any. A holder that did not prove possession of its key, or a requester who lost the
 * right to rotate keys, affects every host, regardless of the number of failures allowed.
 */
export function haltOf(rotation: Rotation, progress: RotationProgress, wave = rotation.wave): RotationMove | undefined {
  const failed = progress.all.find(
    ({ outcome, failureCode }) =>
      ['FAILED_PRECHECK', 'BLOCKED'].includes(outcome) && HALTING_CODES.includes(failureCode ?? ''),
  );
  const code = failed?.failureCode ?? '';
  if (failed !== undefined && (rotation.promotedAt === null || code === RIGHTS_LOST) && !rotation.dryRun)
    return { status: 'HALTED', code, reason: failed.failureDetail ?? code };
  // After the handover, a user is involved immediately, because the other accounts continue and their overlap may be long.
  if (rotation.promotedAt !== null) return progress.has('CRITICAL') ? undefined : blockedMove(progress.all);
  return hasTooManyFailures(rotation, progress, wave) ? tooManyFailures(progress, wave) : undefined;
}

/** Returns the halt for an account that needs human action, or undefined if there is no such account. */
function blockedMove(all: readonly RotationTarget[]): RotationMove | undefined {
  const blocked = all.find(({ outcome }) => outcome === 'BLOCKED');
  return (
    blocked && {
      status: 'HALTED',
      code: 'rotation.blocked',
      reason: blocked.failureDetail ?? 'A host requires manual action.',
    }
  );
}

/** Describes how many accounts failed, and why the first account failed. */
function tooManyFailures({ all }: RotationProgress, wave: number): RotationMove {
  const failed = all.filter((target) => target.wave <= wave && FAILURES.includes(target.outcome));
  const count = all.length === 1 ? 'The account' : `${failed.length} of ${all.length} accounts`;
  const because = failed[0]?.failureDetail;
  const first = failed.length > 1 ? ' First failure:' : '';
  const reason = `${count} could not be rotated${because ? `.${first} ${because}` : '.'}`;
  return { status: 'HALTED', code: 'rotation.halted', reason };
}

/**
 * Reports whether too many hosts failed. Before the handover, a user must then decide how to continue. No decision is needed if all targets are rolled back.
 */
function hasTooManyFailures(rotation: Rotation, progress: RotationProgress, wave: number): boolean {
  const { settings, promotedAt, dryRun } = rotation;
  if (
    promotedAt !== null ||
    dryRun ||
    !(progress.has('FAILED_PRECHECK') || progress.has('BLOCKED') || progress.open.length > 0)
  )
    return false;
  const max = settings.onFailure === 'halt' ? 0 : maxFailures(wave, progress.sizeOf(wave));
  return progress.failedIn(wave) > max;
}

/**
 * Returns the number of hosts in a wave that may fail: two hosts, or one host in twenty, whichever is larger. In the first wave, the canary, no host may fail.
 */
function maxFailures(wave: number, size: number): number {
  return wave === 0 ? 0 : Math.max(2, Math.floor(size / 20));
}

/** Returns the final status of a rotation whose targets are all finished. */
export function endingOf({ dryRun, status }: Rotation, { all, has }: RotationProgress): RotationMove {
  if (has('CRITICAL'))
    return {
      status: 'CRITICAL',
      code: 'rotation.locked-out',
      reason: 'A host accepts neither the old key nor the new key.',
    };
  if (dryRun) return { status: 'PLANNED' };
  if (all.every(({ outcome }) => outcome === 'PROVEN')) return { status: 'DONE' };
  if (all.every(({ outcome }) => outcome === 'ROLLED_BACK' || outcome === 'FAILED_PRECHECK'))
    return { status: 'ROLLED_BACK' };
  const blocked = status === 'ROLLING_BACK' ? undefined : blockedMove(all);
  if (blocked !== undefined) return blocked;
  return {
    status: 'PARTIAL',
    code: 'rotation.partial',
    reason: 'The old key remains on a host that could not be rotated.',
  };
}
