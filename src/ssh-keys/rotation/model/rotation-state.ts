/** What a rotation as a whole is doing. */
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
 * Every legal move. SURVEYING: every account is looked at, so that approvers can be shown what will be changed. PLANNED is the end of a dry run. HALTED waits for a person: too much failed. AWAITING_HOLDER waits until
 * whoever holds the new key has used it, or says so.
 */
const MOVES: Record<RotationStatus, readonly RotationStatus[]> = {
  SURVEYING: ['PENDING_APPROVAL', 'HALTED', 'ROLLING_BACK', 'ROLLED_BACK', 'PARTIAL'],
  PENDING_APPROVAL: ['RUNNING', 'CANCELLED'],
  RUNNING: ['HALTED', 'AWAITING_HOLDER', 'ROLLING_BACK', 'PLANNED', 'DONE', 'PARTIAL', 'ROLLED_BACK', 'CRITICAL'],
  HALTED: ['SURVEYING', 'RUNNING', 'ROLLING_BACK', 'PARTIAL', 'CRITICAL'],
  AWAITING_HOLDER: ['RUNNING', 'ROLLING_BACK'],
  ROLLING_BACK: ['ROLLED_BACK', 'PARTIAL', 'CRITICAL'],
  PLANNED: [],
  DONE: [],
  PARTIAL: [],
  ROLLED_BACK: [],
  CANCELLED: [],
  CRITICAL: [],
};

export function rotationStatusesBefore(next: RotationStatus): RotationStatus[] {
  return ROTATION_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isOver(status: RotationStatus): boolean {
  return MOVES[status].length === 0;
}

/** The last thing that was completed on one account of one host, in the order in which they happen. */
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

/** How it ended; OPEN while it has not. BLOCKED and FAILED_PRECHECK can be tried again. */
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

/** What is done next, by what was done last. Absent: it waits for the other targets. */
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
export type StepName = (typeof STEPS)[keyof typeof STEPS] | 'roll-back';

/** The step that a target waits for. `rollingBack` turns everything round that has not gone too far. */
export function nextStep(state: TargetState, rollingBack: boolean): StepName | undefined {
  if (rollingBack) return hasReached(state, 'REMOVED') ? undefined : 'roll-back';
  return (STEPS as Partial<Record<TargetState, StepName>>)[state];
}
