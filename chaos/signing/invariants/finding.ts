import type { Evidence } from '../evidence.js';

/** What came of one check. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** What was looked at, in numbers. */
  readonly figures: string;
  /** Empty when the invariant holds. */
  readonly violations: readonly string[];
}

export type Check = (evidence: Evidence) => Finding;
