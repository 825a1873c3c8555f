/**
 * The life of an approval: PENDING until one of the others, all of which are final. SUPERSEDED: what was to be approved changed for a
 * good reason (its key was rotated), and another approval was asked for.
 */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN', 'SUPERSEDED'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export function isDecided(status: ApprovalStatus): boolean {
  return status !== 'PENDING';
}
