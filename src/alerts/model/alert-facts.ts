import type { AlertFacts, AlertFact } from '../../platform/events/alert-events.js';
import { RISK_LEVELS } from './alert-condition.js';

const LEVEL = /^level([0-4])$/;

/**
 * shownFacts returns the facts of an alert in the form that users and webhooks receive. Numbers of assets are keyed by the name of the risk level (`HIGH`)
 * instead of the key in the rows (`level3`), and `examples` is a list.
 */
export function shownFacts(facts: AlertFacts): Record<string, AlertFact> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [nameOf(name), shown(name, value)]));
}

function nameOf(name: string): string {
  return RISK_LEVELS[Number(LEVEL.exec(name)?.[1] ?? -1)] ?? name;
}

/** Returns `examples` as a list. Rows written by earlier versions store `examples` as a single string. */
function shown(name: string, value: AlertFact): AlertFact {
  if (name !== 'examples' || typeof value !== 'string') return value;
  return value === '' ? [] : value.split(', ');
}
