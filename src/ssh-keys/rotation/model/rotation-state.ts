/** ROTATION_STATUSES are the statuses of a whole rotation. */
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
 * Allowed transitions. SURVEYING: every account is read, so that approvers can see the changes. PLANNED: a dry run has ended. RUNNING returns to
 * PENDING_APPROVAL if the policies require further votes before the first host is changed. HALTED: too many targets failed, and a user must decide how to
 * continue. AWAITING_HOLDER: the holder of the new key must use or confirm the key.
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
  // A host that accepts neither key can receive the new key again.
  CRITICAL: ['RUNNING'],
};

/** Final statuses of a rotation. Only a user can resume a rotation that is CRITICAL. */
const ENDS: readonly RotationStatus[] = ['PLANNED', 'DONE', 'PARTIAL', 'ROLLED_BACK', 'CANCELLED', 'CRITICAL'];

export function rotationStatusesBefore(next: RotationStatus): RotationStatus[] {
  return ROTATION_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isOver(status: RotationStatus): boolean {
  return ENDS.includes(status);
}

/** TARGET_STATES are the states of a target, each named after the last completed step, in order. */
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

/** TARGET_OUTCOMES are the outcomes of a target. The outcome is OPEN until the target is finished. BLOCKED and FAILED_PRECHECK can be retried. */
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

/** STEPS maps each state to the next step. In a state without a step, the target waits for the other targets. */
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

/**
 * Returns the next step of a target. During a rollback, the next step is the rollback itself if the old key is still present. While both keys are valid, the
 * next step checks the new key.
 */
export function nextStep(state: TargetState, isRollingBack: boolean, isInOverlap = false): StepName | undefined {
  if (isRollingBack && !hasReached(state, 'REMOVED')) return 'roll-back';
  if (state === 'OVERLAP' && isInOverlap) return 'check-new';
  return (STEPS as Partial<Record<TargetState, StepName>>)[state];
}

/**
 * Returns the number of seconds for which the old key must still be accepted. Returns 0 after the overlap. Also returns 0 for targets created by earlier
 * versions, which became due at the end of the overlap.
 */
export function secondsOfOverlap({ overlapEndsAt }: { readonly overlapEndsAt: Date | null }): number {
  return Math.max(0, ((overlapEndsAt?.getTime() ?? 0) - Date.now()) / 1000);
}

const MIN_CHECK_SECONDS = 5;
const MAX_CHECK_SECONDS = 6 * 3600;
const CHECKS_PER_OVERLAP = 12;

/** Returns the number of seconds until the next check of the new key, or until the end of the overlap if the overlap ends sooner. */
export function secondsUntilCheck(overlapSeconds: number, secondsLeft: number): number {
  const interval = Math.max(MIN_CHECK_SECONDS, Math.min(overlapSeconds / CHECKS_PER_OVERLAP, MAX_CHECK_SECONDS));
  return Math.max(0, Math.min(interval, secondsLeft));
}

/** Steps that wait for the maintenance window. All other steps bring work in progress to a safe state and run at any hour. */
const WINDOWED_STEPS: readonly StepName[] = ['add', 'promote', 'remove-old'];
const HOUR_MS = 3600 * 1000;
const HOURS_PER_DAY = 24;

/** Returns the number of seconds until the step is allowed. Returns 0 inside the window (`from` ≤ hour < `to`, UTC) and without a window. */
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
