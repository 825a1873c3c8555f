import type { Evidence } from '../evidence.js';

/** The result of one check. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** What was checked, in numbers. */
  readonly figures: string;
  /** Empty when the invariant holds. */
  readonly violations: readonly string[];
}

export type Check = (evidence: Evidence) => Finding;
