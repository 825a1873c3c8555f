/** The life of a scan. */
export const SCAN_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] as const;
export type ScanStatus = (typeof SCAN_STATUSES)[number];

/** Every legal move; DONE, FAILED and CANCELLED are final. RUNNING → RUNNING: another worker goes on where a dead one stopped. */
const MOVES: Record<ScanStatus, readonly ScanStatus[]> = {
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['RUNNING', 'DONE', 'FAILED', 'CANCELLED'],
  DONE: [],
  FAILED: [],
  CANCELLED: [],
};

/** Where a move to `next` may start. */
export function scanStatusesBefore(next: ScanStatus): ScanStatus[] {
  return SCAN_STATUSES.filter((status) => MOVES[status].includes(next));
}

export function isFinalScanStatus(status: ScanStatus): boolean {
  return MOVES[status].length === 0;
}
