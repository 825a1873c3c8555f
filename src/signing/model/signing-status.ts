/** The life of a signing request. */
export const SIGNING_STATUSES = ['QUEUED', 'PROCESSING', 'SIGNED', 'FAILED', 'PENDING_APPROVAL'] as const;
export type SigningStatus = (typeof SIGNING_STATUSES)[number];

/**
 * Every legal move. SIGNED and FAILED are final.
 * A request that is signed while its caller waits starts in PROCESSING; one that a policy holds, in PENDING_APPROVAL.
 * PROCESSING → QUEUED gives a request back: its HSM call failed, or its process died.
 * QUEUED → PENDING_APPROVAL asks anew: the key was rotated after the approval.
 */
const MOVES: Record<SigningStatus, readonly SigningStatus[]> = {
  PENDING_APPROVAL: ['QUEUED', 'FAILED'],
  QUEUED: ['PROCESSING', 'FAILED', 'PENDING_APPROVAL'],
  PROCESSING: ['SIGNED', 'FAILED', 'QUEUED'],
  SIGNED: [],
  FAILED: [],
};

/** Where a move to `next` may start; the compare of every compare-and-set. */
export function signingStatusesBefore(next: SigningStatus): SigningStatus[] {
  return SIGNING_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalSigningStatus(status: SigningStatus): boolean {
  return MOVES[status].length === 0;
}
