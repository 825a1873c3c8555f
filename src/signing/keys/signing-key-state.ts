/** The life of a signing key. A key signs only in ACTIVE. From DESTROYING on there is no way back. */
export const SIGNING_KEY_STATES = [
  'GENERATING',
  'ACTIVE',
  'DISABLED',
  'PENDING_DESTRUCTION',
  'DESTROYING',
  'DESTROYED',
  'FAILED',
] as const;
export type SigningKeyState = (typeof SIGNING_KEY_STATES)[number];

const MOVES: Record<SigningKeyState, readonly SigningKeyState[]> = {
  GENERATING: ['ACTIVE', 'FAILED'],
  ACTIVE: ['DISABLED', 'PENDING_DESTRUCTION'],
  DISABLED: ['ACTIVE', 'PENDING_DESTRUCTION'],
  PENDING_DESTRUCTION: ['DISABLED', 'DESTROYING'],
  DESTROYING: ['DESTROYED'],
  DESTROYED: [],
  FAILED: [],
};

/** Where a move to `next` may start. */
export function statesBefore(next: SigningKeyState): SigningKeyState[] {
  return SIGNING_KEY_STATES.filter((state) => MOVES[state].includes(next));
}
