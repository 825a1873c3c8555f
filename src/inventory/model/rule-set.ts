import type { Axis, Deadline, Level } from './risk-verdict.js';

type Range = readonly [min: number, max: number];

/**
 * RuleMatch contains the conditions of a rule on individual facts: a list of values, a range, or null for "not declared". All conditions must match.
 */
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
  /** A value, or a list of accepted values. */
  readonly kePq?: boolean | readonly (boolean | null)[];
  /** Regular expression for cipher suite names. */
  readonly suite?: string;
  readonly kex?: readonly string[];
  readonly hostkey?: readonly string[];
  /** Name of a condition that is evaluated in code. */
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
  /** Whether the fact was checked against the primary source for this edition. */
  readonly verified: boolean;
}

/** OwnName is a name that is not in any vocabulary, with a user-defined meaning. */
export interface OwnName {
  /** Name in a document, without surrounding spaces. Case is ignored. */
  readonly name: string;
  /** A known name, such as AES-256-GCM. */
  readonly means: string;
  readonly reason: string;
  /** ID of the user or API key that defined the name. */
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
}

export interface RuleSet {
  /** Year and month as of which the facts are current, with a letter for a later edition in the same month. */
  readonly edition: string;
  readonly rules: readonly Rule[];
  /** User-defined names. */
  readonly names?: readonly OwnName[];
}
