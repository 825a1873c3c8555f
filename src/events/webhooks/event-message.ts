import type { WebhookMessage } from '../../notifications/webhooks/webhook-message.js';
import { EVENT_CATALOGUE } from '../catalogue/event-catalogue.js';
import type { LoggedEvent } from '../feed/logged-event.js';

/** Console page by kind of subject. */
const PAGES: Readonly<Record<string, string>> = {
  'signing-request': 'requests',
  'signing-key': 'keys',
  'ssh-rotation': 'rotations',
  scan: 'scans',
};

/** messageOf returns the webhook message of a derived event, readable by people and programs. */
export function messageOf({ id, type, timestamp, subject, data }: LoggedEvent, publicUrl: string): WebhookMessage {
  const page = PAGES[subject.kind];
  return {
    id,
    type,
    at: new Date(timestamp),
    data,
    title: EVENT_CATALOGUE[type].description.split('.', 1)[0] ?? '',
    facts: Object.entries(data).map(([name, value]) => ({ name: labelOf(name), value: shownValue(value) })),
    ...(page === undefined ? {} : { link: `${publicUrl}/${page}/${subject.id}` }),
  };
}

function labelOf(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns a human-readable value: the name of a party, the items of a list, or the value itself. */
function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return 'name' in value && typeof value.name === 'string' ? value.name : JSON.stringify(value);
}
