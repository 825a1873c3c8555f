export const LEVELS = ['NONE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type Level = (typeof LEVELS)[number];

export const AXES = ['quantum', 'classical', 'lifecycle', 'material', 'quality'] as const;
export type Axis = (typeof AXES)[number];

/** Deadline is a date after which the status of an algorithm changes, with its source. */
export interface Deadline {
  /** Last day of the previous state. */
  readonly date: string;
  readonly state: string;
  /** Canonical name of the document that sets the deadline. */
  readonly authority: string;
  /** Section and scope within the document. */
  readonly provision?: string;
  readonly jurisdiction: string;
  /** Whether the deadline is binding rather than advisory. */
  readonly binding: boolean;
  readonly draft: boolean;
  /** Plans, acquisitions or organizations to which the deadline is limited. A limited deadline does not end any existing use. */
  readonly appliesTo?: string;
  /** False if the deadline was taken from secondary sources and not checked against the primary source. */
  readonly verified?: boolean;
  /** Link to the document. */
  readonly url?: string;
}

/** RiskFinding is one rule that applies to an asset. */
export interface RiskFinding {
  readonly rule: string;
  readonly axis: Axis | 'both';
  readonly status: string;
  readonly level: Level;
  readonly reason: string;
  readonly standards: readonly string[];
  readonly deadlines: readonly Deadline[];
  readonly target: string | null;
  /** False for a well-known fact that was not checked against a source for this edition of the rules. */
  readonly verified: boolean;
  /** Part of the asset to which the finding applies: an algorithm or a cipher suite. */
  readonly subject: string;
}

export interface AxisVerdict {
  readonly status: string;
  readonly level: Level;
  /** Rule that determined the status. */
  readonly rule: string | null;
}

/** RiskVerdict contains the verdicts on two independent axes, and the highest level of the quantum, classical and material findings. */
export interface RiskVerdict {
  readonly level: Level;
  readonly rule: string | null;
  readonly quantum: AxisVerdict;
  readonly classical: AxisVerdict;
  readonly material: AxisVerdict | null;
  readonly family: string | null;
  readonly bits: number | null;
  /** Date of `deadlineBy`. */
  readonly deadline: string | null;
  /**
   * First binding deadline of all findings, or the first deadline if no deadline is binding. Undefined in verdicts written by versions that did not store this
   * member.
   */
  readonly deadlineBy?: Deadline | null;
  readonly findings: readonly RiskFinding[];
}

export function levelNumber(level: Level): number {
  return LEVELS.indexOf(level);
}

/** VerdictFacts are the columns of `risk_verdict` by which lists are filtered and sorted and assets are counted. */
export interface VerdictFacts {
  readonly family: string | null;
  readonly bits: number | null;
  /** Risk level from 0 (NONE) to 4 (CRITICAL), excluding the lifecycle. */
  readonly level: number;
  readonly quantum: string;
  readonly classical: string;
  /** Rule that determined the level. */
  readonly rule: string | null;
  /** Date of the first binding deadline, or of the first deadline if none is binding. */
  readonly deadline: string | null;
}

export const FACTS = 'family, bits, level, quantum, classical, rule, deadline';

/** deadlineByIn returns SQL for the value of the column `deadline_by`, from a verdict as `jsonb`. */
export function deadlineByIn(verdict: string): string {
  return `nullif(${verdict} -> 'deadlineBy', 'null')`;
}

/** verdictFactsIn returns SQL for the values of `FACTS`, from a verdict as `jsonb`. */
export function verdictFactsIn(verdict: string): string {
  return `${verdict} ->> 'family', (${verdict} ->> 'bits')::int,
    array_position('{${LEVELS.join(',')}}'::text[], ${verdict} ->> 'level') - 1,
    ${verdict} #>> '{quantum,status}', ${verdict} #>> '{classical,status}', ${verdict} ->> 'rule', (${verdict} ->> 'deadline')::date`;
}
