import type { TargetOutcome } from '../model/rotation-state.js';
import { hasReached } from '../model/rotation-state.js';
import type { RotationTarget } from '../model/rotation-target.entity.js';

/** How far the targets of a rotation are. */
export interface RotationProgress {
  readonly all: readonly RotationTarget[];
  readonly open: readonly RotationTarget[];
  /** Open ones that accept both keys for good and wait for the hand-over. */
  readonly waiting: RotationTarget[];
  readonly lastWave: number;
  has(outcome: TargetOutcome): boolean;
  sizeOf(wave: number): number;
  /** Failures of all waves up to this one. */
  failedIn(wave: number): number;
  /** Whether every target of the waves up to this one has ended or waits. */
  isThrough(wave: number): boolean;
}

const FAILURES: readonly TargetOutcome[] = ['FAILED_PRECHECK', 'BLOCKED', 'ROLLED_BACK', 'CRITICAL'];

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
