import type { AlertEventRow } from '../../platform/events/alert-events.js';
import { ALERT_CONDITION_RULES, DEFAULT_DAYS, RISK_LEVELS } from '../model/alert-condition.js';
import type { AlertRule } from '../model/alert-rule.entity.js';
import type { AlertFacts } from '../../platform/events/alert-events.js';

/** One or more events of the same key that match a rule. */
export interface Hit {
  readonly rule: AlertRule;
  readonly key: string;
  readonly title: string;
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string };
  readonly facts: AlertFacts;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Returns how many occurrences the rule counts for this event; 0 if the event does not match. */
export function countFor(rule: AlertRule, event: AlertEventRow): number {
  const { events, counts } = ALERT_CONDITION_RULES[rule.condition];
  if (!events.includes(event.type)) return 0;
  if (rule.condition === 'risk-threshold') {
    const least = RISK_LEVELS.indexOf(rule.parameters.level ?? 'CRITICAL');
    return RISK_LEVELS.reduce((sum, _, level) => (level < least ? sum : sum + numberOf(event.facts, level)), 0);
  }
  if (event.type === 'certificate.ending' && !event.over) {
    return Number(event.facts['daysLeft'] ?? 0) <= (rule.parameters.days ?? DEFAULT_DAYS) ? 1 : 0;
  }
  return counts === 'once' ? 1 : event.count;
}

function numberOf(facts: AlertEventRow['facts'], level: number): number {
  return Number(facts[`level${level}`] ?? 0);
}

export function hitOf(rule: AlertRule, event: AlertEventRow, count: number): Hit {
  const { subjectKind: kind, subjectId: id, subjectName: name, facts, at } = event;
  const { headline } = ALERT_CONDITION_RULES[rule.condition];
  const ofSubject = rule.grouping === 'subject';
  return {
    rule,
    key: ofSubject ? `${kind}:${id}` : '*',
    title: ofSubject ? `${headline}: ${name}` : headline,
    subject: { kind, id, name },
    facts,
    count,
    firstAt: at,
    lastAt: at,
  };
}

/** Merges two hits. The later event determines the facts. Lasting conditions count once; the counts of all other conditions are added. */
export function mergedHit(earlier: Hit, later: Hit): Hit {
  const count =
    ALERT_CONDITION_RULES[later.rule.condition].counts === 'once' ? later.count : earlier.count + later.count;
  return { ...later, count, firstAt: earlier.firstAt };
}
