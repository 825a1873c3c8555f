import type { Axis, Deadline, Level } from './risk-verdict.js';

type Range = readonly [min: number, max: number];

/** The conditions of a rule on single facts: a list of values, a range, or null for "not declared". All must be met. */
export interface RuleMatch {
  readonly family?: readonly string[];
  readonly notFamily?: readonly string[];
  readonly bits?: Range | null;
  readonly notBits?: readonly number[];
  readonly curveBits?: Range | null;
  readonly param?: readonly string[] | null;
  readonly purpose?: readonly string[];
  readonly usage?: readonly string[];
  readonly notUsage?: readonly string[];
  readonly mode?: readonly string[];
  readonly padding?: readonly string[];
  readonly hash?: readonly string[];
  readonly hybrid?: readonly string[];
  readonly selfSignedRoot?: boolean;
  readonly protocol?: readonly string[];
  readonly version?: readonly string[] | null;
  /** Each of a list. */
  readonly kePq?: boolean | readonly (boolean | null)[];
  /** A regular expression over names of cipher suites. */
  readonly suite?: string;
  readonly kex?: readonly string[];
  readonly hostkey?: readonly string[];
  /** Conditions that are worked out in code, by name. */
  readonly material?: string;
  readonly certificate?: string;
  readonly quality?: string;
}

export interface Rule {
  readonly id: string;
  readonly axis: Axis | 'both';
  readonly match: RuleMatch;
  readonly status: string;
  readonly level: Level;
  readonly reason: string;
  readonly standards: readonly string[];
  readonly deadlines: readonly Deadline[];
  readonly target: string | null;
  /** true: read in the primary source for this edition; false: to be verified. */
  readonly verified: boolean;
}

/** A name that no vocabulary has, and what people say that it stands for. */
export interface OwnName {
  /** As it stood in a document, without blanks at its ends; case does not matter. */
  readonly name: string;
  /** A name that is read: AES-256-GCM. */
  readonly means: string;
  readonly reason: string;
  /** Who taught it: the id of a user or API key. */
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
}

export interface RuleSet {
  /** Year and month of the facts, with a letter for a later one of the same month. */
  readonly edition: string;
  readonly rules: readonly Rule[];
  /** Names that people taught. */
  readonly names?: readonly OwnName[];
}
