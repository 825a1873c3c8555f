import { hasReached, type RotationStatus, type TargetOutcome } from '../model/rotation-state.js';
import type { RotationTarget } from '../model/rotation-target.entity.js';
import type { Rotation } from '../model/rotation.entity.js';

/** Progress of the targets of a rotation. */
export interface RotationProgress {
  readonly all: readonly RotationTarget[];
  readonly open: readonly RotationTarget[];
  /** Open ones that accept both keys permanently and wait for the hand-over. */
  readonly waiting: RotationTarget[];
  readonly lastWave: number;
  has(outcome: TargetOutcome): boolean;
  sizeOf(wave: number): number;
  /** Failures of all waves up to this one. */
  failedIn(wave: number): number;
  /** Whether every target of the waves up to this one has ended or waits. */
  isThrough(wave: number): boolean;
}

/** A status that a rotation moves to, and why. */
export interface RotationMove {
  readonly status: RotationStatus;
  readonly code?: string;
  readonly reason?: string;
}

const FAILURES: readonly TargetOutcome[] = ['FAILED_PRECHECK', 'BLOCKED', 'ROLLED_BACK', 'CRITICAL'];
/** Failures of one account that concern every account. */
const HALTING_CODES = ['rotation.holder-unproven', 'rotation.rights-lost'];

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

/** The halt that a rotation needs before it goes on. A holder that did not prove its key, and a requester who lost the right, concern every host, however many may fail otherwise. */
export function haltOf(rotation: Rotation, progress: RotationProgress, wave = rotation.wave): RotationMove | undefined {
  const failed = progress.all.find(
    ({ outcome, failureCode }) =>
      ['FAILED_PRECHECK', 'BLOCKED'].includes(outcome) && HALTING_CODES.includes(failureCode ?? ''),
  );
  if (failed !== undefined && rotation.promotedAt === null && !rotation.dryRun) {
    const code = failed.failureCode ?? '';
    return { status: 'HALTED', code, reason: failed.failureDetail ?? code };
  }
  // After the hand-over a person is asked at once: the other accounts go on, and their overlap may be long.
  if (rotation.promotedAt !== null) return progress.has('CRITICAL') ? undefined : blockedMove(progress.all);
  return hasTooManyFailures(rotation, progress, wave) ? tooManyFailures(progress, wave) : undefined;
}

/** The halt for an account that needs a person; undefined when there is none. */
function blockedMove(all: readonly RotationTarget[]): RotationMove | undefined {
  const blocked = all.find(({ outcome }) => outcome === 'BLOCKED');
  return (
    blocked && {
      status: 'HALTED',
      code: 'rotation.blocked',
      reason: blocked.failureDetail ?? 'A host needs a person.',
    }
  );
}

/** States how many accounts failed, and why the first of them did. */
function tooManyFailures({ all }: RotationProgress, wave: number): RotationMove {
  const failed = all.filter((target) => target.wave <= wave && FAILURES.includes(target.outcome));
  const count = all.length === 1 ? 'The account' : `${failed.length} of ${all.length} accounts`;
  const because = failed[0]?.failureDetail;
  const first = failed.length > 1 ? ' The first:' : '';
  const reason = `${count} could not be rotated${because ? `.${first} ${because}` : '.'}`;
  return { status: 'HALTED', code: 'rotation.halted', reason };
}

/** Before the hand-over a person decides how it goes on without the failed hosts. Targets that are all rolled back need no decision. */
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

/** Hosts of one wave that may fail: two, or one in twenty if that is more. The first wave is the canary: none. */
function maxFailures(wave: number, size: number): number {
  return wave === 0 ? 0 : Math.max(2, Math.floor(size / 20));
}

/** The status in which a rotation ends whose targets have all ended. */
export function endingOf({ dryRun, status }: Rotation, { all, has }: RotationProgress): RotationMove {
  if (has('CRITICAL'))
    return { status: 'CRITICAL', code: 'rotation.locked-out', reason: 'A host accepts neither key.' };
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
