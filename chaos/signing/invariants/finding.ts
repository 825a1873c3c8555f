import type { Evidence } from '../evidence.js';

/** Result of one check. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** Numbers that describe what was checked. */
  readonly figures: string;
  /** Violations; empty if the invariant holds. */
  readonly violations: readonly string[];
}

export type Check = (evidence: Evidence) => Finding;
