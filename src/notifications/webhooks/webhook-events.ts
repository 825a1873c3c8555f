/**
 * WEBHOOK_EVENTS lists the events that webhook endpoints can subscribe to, with their meaning. Subscriptions are validated against this list. The OpenAPI
 * document, docs/alerts.md and the console show the list.
 */
export const WEBHOOK_EVENTS = {
  'alert.opened': 'An alert was opened.',
  'alert.again': 'An open alert has new occurrences.',
  'alert.reopened': 'A resolved alert was reopened.',
  'alert.resolved': 'The condition of an alert has ended.',
  'alert.asked': 'A user requested another notification for an alert, or a test of its rule.',
  'approval.requested': 'An approval was requested, or its next stage has begun.',
  'approval.reminder': 'Half of the decision period of a pending approval has passed.',
  'approval.approved': 'An approval was granted.',
  'approval.rejected': 'An approval was rejected.',
  'approval.expired': 'An approval expired without a decision.',
  'approval.withdrawn': 'An approval was withdrawn by its requester.',
  'approval.superseded': 'An approval was replaced because the policies changed.',
  'hosts.key-changed': 'A host presented a key other than its trusted host key. The service did not log in.',
} as const;

/** WebhookEvent is the type of a webhook message. Test messages need no subscription. */
export type WebhookEvent = keyof typeof WEBHOOK_EVENTS | 'webhook.test';

/** WEBHOOK_SUBSCRIPTIONS lists every valid subscription: all events, all of an area, or a single event. */
export const WEBHOOK_SUBSCRIPTIONS: readonly string[] = [
  '*',
  ...new Set(Object.keys(WEBHOOK_EVENTS).map((event) => `${areaOf(event)}.*`)),
  ...Object.keys(WEBHOOK_EVENTS),
];

/** withoutEffect returns the subscriptions that match no event. */
export function withoutEffect(subscriptions: readonly string[]): string[] {
  return subscriptions.filter((name) => !WEBHOOK_SUBSCRIPTIONS.includes(name));
}

/** areaOf returns the area of an event, such as `alert` for `alert.opened`. */
export function areaOf(event: string): string {
  return event.split('.', 1)[0] ?? '';
}
