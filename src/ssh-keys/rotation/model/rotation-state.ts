/** Status of a rotation as a whole. */
export const ROTATION_STATUSES = [
  'SURVEYING',
  'PENDING_APPROVAL',
  'RUNNING',
  'HALTED',
  'AWAITING_HOLDER',
  'ROLLING_BACK',
  'PLANNED',
  'DONE',
  'PARTIAL',
  'ROLLED_BACK',
  'CANCELLED',
  'CRITICAL',
] as const;
export type RotationStatus = (typeof ROTATION_STATUSES)[number];

/**
 * Every legal move. SURVEYING: every account is read, so that approvers can be shown the changes. PLANNED is the end of a dry run. RUNNING goes back to PENDING_APPROVAL when the policies
 * demand further votes before the first host is changed. HALTED: too many targets
 * failed, and a person decides. AWAITING_HOLDER: the holder of the new key has to use or confirm it.
 */
const MOVES: Record<RotationStatus, readonly RotationStatus[]> = {
  SURVEYING: ['PENDING_APPROVAL', 'HALTED', 'ROLLING_BACK', 'ROLLED_BACK', 'PARTIAL'],
  PENDING_APPROVAL: ['RUNNING', 'CANCELLED'],
  RUNNING: [
    'PENDING_APPROVAL',
    'HALTED',
    'AWAITING_HOLDER',
    'ROLLING_BACK',
    'PLANNED',
    'DONE',
    'PARTIAL',
    'ROLLED_BACK',
    'CRITICAL',
  ],
  HALTED: ['SURVEYING', 'RUNNING', 'ROLLING_BACK', 'PARTIAL', 'CRITICAL'],
  AWAITING_HOLDER: ['RUNNING', 'ROLLING_BACK'],
  ROLLING_BACK: ['ROLLED_BACK', 'PARTIAL', 'CRITICAL'],
  PLANNED: [],
  DONE: [],
  PARTIAL: [],
  ROLLED_BACK: [],
  CANCELLED: [],
  // A host that accepts neither key may get the new one again.
  CRITICAL: ['RUNNING'],
};

/** Statuses in which a rotation has ended; only a person can resume one that is CRITICAL. */
const ENDS: readonly RotationStatus[] = ['PLANNED', 'DONE', 'PARTIAL', 'ROLLED_BACK', 'CANCELLED', 'CRITICAL'];

export function rotationStatusesBefore(next: RotationStatus): RotationStatus[] {
  return ROTATION_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isOver(status: RotationStatus): boolean {
  return ENDS.includes(status);
}

/** The last step that was completed on a target, in the order in which they happen. */
export const TARGET_STATES = [
  'PLANNED',
  'PRECHECKED',
  'ADDED',
  'VERIFIED',
  'PERMANENT',
  'RELEASED',
  'PROMOTED',
  'OVERLAP',
  'REMOVED',
  'PROVEN',
] as const;
export type TargetState = (typeof TARGET_STATES)[number];

export function hasReached(state: TargetState, other: TargetState): boolean {
  return TARGET_STATES.indexOf(state) >= TARGET_STATES.indexOf(other);
}

/** Outcome of a target; OPEN until it ends. BLOCKED and FAILED_PRECHECK can be retried. */
export const TARGET_OUTCOMES = [
  'OPEN',
  'READY',
  'PROVEN',
  'ROLLED_BACK',
  'FAILED_PRECHECK',
  'BLOCKED',
  'SKIPPED',
  'CRITICAL',
] as const;
export type TargetOutcome = (typeof TARGET_OUTCOMES)[number];

/** The next step by state; none while the target waits for the other targets. */
export const STEPS = {
  PLANNED: 'precheck',
  PRECHECKED: 'add',
  ADDED: 'verify',
  VERIFIED: 'make-permanent',
  RELEASED: 'promote',
  PROMOTED: 'limit-old',
  OVERLAP: 'remove-old',
  REMOVED: 'prove',
} as const satisfies Partial<Record<TargetState, string>>;
export type StepName = (typeof STEPS)[keyof typeof STEPS] | 'check-new' | 'roll-back';

/** TARGET_STEPS lists all steps. The audit log has one entry for each step performed on a target. */
export const TARGET_STEPS: readonly StepName[] = [...Object.values(STEPS), 'check-new', 'roll-back'];

/** The next step of a target; the roll-back for each that can still be rolled back. While both keys are valid, the new key is checked. */
export function nextStep(state: TargetState, isRollingBack: boolean, isInOverlap = false): StepName | undefined {
  if (isRollingBack) return hasReached(state, 'REMOVED') ? undefined : 'roll-back';
  if (state === 'OVERLAP' && isInOverlap) return 'check-new';
  return (STEPS as Partial<Record<TargetState, StepName>>)[state];
}

/** Seconds for which the old key is still to be accepted; 0 after the overlap, and for a target of an earlier version, which was due at its end. */
export function secondsOfOverlap({ overlapEndsAt }: { readonly overlapEndsAt: Date | null }): number {
  return Math.max(0, ((overlapEndsAt?.getTime() ?? 0) - Date.now()) / 1000);
}

const MIN_CHECK_SECONDS = 5;
const MAX_CHECK_SECONDS = 6 * 3600;
const CHECKS_PER_OVERLAP = 12;

/** Seconds until the next check of the new key, or until the end of the overlap if that is sooner. */
export function secondsUntilCheck(overlapSeconds: number, secondsLeft: number): number {
  const interval = Math.max(MIN_CHECK_SECONDS, Math.min(overlapSeconds / CHECKS_PER_OVERLAP, MAX_CHECK_SECONDS));
  return Math.max(0, Math.min(interval, secondsLeft));
}

/** Steps that wait for the maintenance window. What was begun is brought to a safe state at any hour. */
const WINDOWED_STEPS: readonly StepName[] = ['add', 'promote', 'remove-old'];
const HOUR_MS = 3600 * 1000;
const HOURS_PER_DAY = 24;

/** Seconds until the step may be done; 0 within the window (`from` ≤ hour < `to`, UTC), or without one. */
export function secondsUntilAllowed(
  step: StepName,
  window: { from: number; to: number } | undefined,
  now: Date,
): number {
  if (window === undefined || !WINDOWED_STEPS.includes(step)) return 0;
  const hour = now.getUTCHours();
  const { from, to } = window;
  const isWithin = from <= to ? hour >= from && hour < to : hour >= from || hour < to;
  if (isWithin) return 0;
  const hours = (from - hour + HOURS_PER_DAY) % HOURS_PER_DAY;
  return Math.max(1, Math.ceil((hours * HOUR_MS - (now.getTime() % HOUR_MS)) / 1000));
}
