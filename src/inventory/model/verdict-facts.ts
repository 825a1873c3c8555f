import { LEVELS } from './risk-verdict.js';

/** Of `risk_verdict`: what lists filter and sort by, and counts are kept of. */
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

/** The same, out of a verdict as `jsonb`. */
export function verdictFactsIn(verdict: string): string {
  return `${verdict} ->> 'family', (${verdict} ->> 'bits')::int,
    array_position('{${LEVELS.join(',')}}'::text[], ${verdict} ->> 'level') - 1,
    ${verdict} #>> '{quantum,status}', ${verdict} #>> '{classical,status}', ${verdict} ->> 'rule', (${verdict} ->> 'deadline')::date`;
}
