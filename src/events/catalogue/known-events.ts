import { Problem } from '../../platform/errors/problem.js';
import { nearestName } from '../../platform/text/nearest-name.js';
import { EVENT_SUBSCRIPTIONS, withoutEffect } from './event-catalogue.js';

/**
 * assertKnownEvents throws Problem 422 `webhook.event-unknown` if a subscription matches no event.
 *
 * @param at pointer to the list
 */
export function assertKnownEvents(subscriptions: readonly string[], at: string): void {
  const errors = withoutEffect(subscriptions).map((name) => {
    const nearest = nearestName(name, EVENT_SUBSCRIPTIONS);
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    return { pointer: `${at}/${subscriptions.indexOf(name)}`, detail: `The event "${name}" does not exist.${hint}` };
  });
  const [first] = errors;
  if (first === undefined) return;
  const known = `Known events: ${EVENT_SUBSCRIPTIONS.join(', ')}.`;
  throw new Problem('refused', 'webhook.event-unknown', `${first.pointer}: ${first.detail} ${known}`, { errors });
}
