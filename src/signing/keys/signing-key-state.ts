/** The life of a signing key. A key signs only in ACTIVE. */
export const SIGNING_KEY_STATES = ['GENERATING', 'ACTIVE', 'DISABLED', 'FAILED'] as const;
export type SigningKeyState = (typeof SIGNING_KEY_STATES)[number];

const MOVES: Record<SigningKeyState, readonly SigningKeyState[]> = {
  GENERATING: ['ACTIVE', 'FAILED'],
  ACTIVE: ['DISABLED'],
  DISABLED: ['ACTIVE'],
  FAILED: [],
};

/** Where a move to `next` may start. */
export function statesBefore(next: SigningKeyState): SigningKeyState[] {
  return SIGNING_KEY_STATES.filter((state) => MOVES[state].includes(next));
}
