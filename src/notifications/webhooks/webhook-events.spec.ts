import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WEBHOOK_EVENTS, WEBHOOK_SUBSCRIPTIONS, withoutEffect } from './webhook-events.js';

const documented = () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/alerts.md'), 'utf8');
  return Object.fromEntries(
    [...text.matchAll(/^\| `([a-z]+\.[a-z-]+)`\s*\| (.*?)\s*\|$/gm)].map(([, event, meaning]) => [event, meaning]),
  );
};

describe('webhook events', () => {
  it('match the documentation, including descriptions', () => {
    expect(documented()).toEqual(WEBHOOK_EVENTS);
  });

  it('can be subscribed to individually, by area and all at once; unknown names have no effect', () => {
    expect(WEBHOOK_SUBSCRIPTIONS).toEqual(
      expect.arrayContaining(['*', 'alert.*', 'approval.requested', 'hosts.key-changed']),
    );
    expect(withoutEffect(['*', 'alert.*', 'rotation.*', 'alert.open', 'webhook.test'])).toEqual([
      'rotation.*',
      'alert.open',
      'webhook.test',
    ]);
  });
});
