export const LEVELS = ['NONE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type Level = (typeof LEVELS)[number];

export const AXES = ['quantum', 'classical', 'lifecycle', 'material', 'quality'] as const;
export type Axis = (typeof AXES)[number];

/** A date after which something changes for the algorithm, and who says so. */
export interface Deadline {
  /** The last day of the old state. */
  readonly date: string;
  readonly state: string;
  /** The document that says so, always by the same name. */
  readonly authority: string;
  /** Section and scope within the document. */
  readonly provision?: string;
  readonly jurisdiction: string;
  /** true: binding under the authority; false: advice. */
  readonly binding: boolean;
  readonly draft: boolean;
  /** Whom or what alone it is about: new acquisitions, plans. Such a date ends the use of nothing that is there. */
  readonly appliesTo?: string;
  /** false: known from what others write, not read in the primary text. */
  readonly verified?: boolean;
  /** Link to the document. */
  readonly url?: string;
}

/** One rule that applies. */
export interface RiskFinding {
  readonly rule: string;
  readonly axis: Axis | 'both';
  readonly status: string;
  readonly level: Level;
  readonly reason: string;
  readonly standards: readonly string[];
  readonly deadlines: readonly Deadline[];
  readonly target: string | null;
  /** false: a well-known fact whose source was not read again for this edition of the rules. */
  readonly verified: boolean;
  /** The part of the asset that it is about: an algorithm, a cipher suite. */
  readonly subject: string;
}

export interface AxisVerdict {
  readonly status: string;
  readonly level: Level;
  /** The rule that decided. */
  readonly rule: string | null;
}

/** Two axes that are never mixed, and beside them the highest level of quantum, classical and material findings. */
export interface RiskVerdict {
  readonly level: Level;
  readonly rule: string | null;
  readonly quantum: AxisVerdict;
  readonly classical: AxisVerdict;
  readonly material: AxisVerdict | null;
  readonly family: string | null;
  readonly bits: number | null;
  /** The date of `deadlineBy`. */
  readonly deadline: string | null;
  /** The first binding deadline of all findings, else the first one; absent in verdicts of versions before it was kept. */
  readonly deadlineBy?: Deadline | null;
  readonly findings: readonly RiskFinding[];
}

export function levelNumber(level: Level): number {
  return LEVELS.indexOf(level);
}

/** Columns of `risk_verdict` by which lists filter and sort, and assets are counted. */
export interface VerdictFacts {
  readonly family: string | null;
  readonly bits: number | null;
  /** 0 NONE to 4 CRITICAL, without lifecycle. */
  readonly level: number;
  readonly quantum: string;
  readonly classical: string;
  /** The rule that decided the level. */
  readonly rule: string | null;
  /** The first date on which a rule changes what may be done with it. */
  readonly deadline: string | null;
}

export const FACTS = 'family, bits, level, quantum, classical, rule, deadline';

/** SQL: the value of the column `deadline_by`, out of a verdict as `jsonb`. */
export function deadlineByIn(verdict: string): string {
  return `nullif(${verdict} -> 'deadlineBy', 'null')`;
}

/** SQL: the values of `FACTS`, out of a verdict as `jsonb`. */
export function verdictFactsIn(verdict: string): string {
  return `${verdict} ->> 'family', (${verdict} ->> 'bits')::int,
    array_position('{${LEVELS.join(',')}}'::text[], ${verdict} ->> 'level') - 1,
    ${verdict} #>> '{quantum,status}', ${verdict} #>> '{classical,status}', ${verdict} ->> 'rule', (${verdict} ->> 'deadline')::date`;
}
