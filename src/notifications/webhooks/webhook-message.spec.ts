import { describe, expect, it } from 'vitest';
import { WEBHOOK_FORMATS } from './webhook-endpoint.entity.js';
import { webhookBody, type WebhookMessage } from './webhook-message.js';

const ID = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
const message = (text: string): WebhookMessage => ({
  type: 'alert.opened',
  at: new Date('2027-01-01T00:00:00Z'),
  data: { alertId: ID, subject: { id: ID, name: text }, facts: { where: text, why: text, reason: text } },
  title: text,
  facts: ['What', 'Where', 'Why', 'When'].map((name) => ({ name, value: text })),
  link: `https://sealwright.example/alerts/${ID}`,
});

describe.each(WEBHOOK_FORMATS)('a %s message', (format) => {
  it('is complete when it is short', () => {
    expect(webhookBody(message('db1.example'), format)).toContain('db1.example');
  });

  it.each(['\u0001', '&', '🔑', '"', 'a'])('is at most 20,000 bytes, even with long texts of %j', (sign) => {
    const body = webhookBody(message(sign.repeat(5000)), format);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
    expect(body).toContain(ID);
    expect(body.isWellFormed()).toBe(true);
    expect(JSON.stringify(JSON.parse(body))).toBe(body);
  });
});

interface Block {
  readonly type: string;
  readonly text: { readonly text: string };
}

const blocksOf = (given: Partial<WebhookMessage>): Block[] =>
  (JSON.parse(webhookBody({ ...message('db1'), ...given }, 'slack')) as { blocks: Block[] }).blocks;
const MAX: Readonly<Record<string, number>> = { header: 150, section: 3000 };

describe('Slack blocks, which must stay within all limits', () => {
  it.each(['&', '<!channel>', '"', '🔐', 'e\u0301', 'a'])('respect the maximum length when all text is %j', (sign) => {
    const facts = [{ name: sign.repeat(500), value: sign.repeat(2000) }];
    for (const { type, text } of blocksOf({ title: sign.repeat(500), facts })) {
      expect(text.text.length).toBeLessThanOrEqual(MAX[type] ?? 0);
      expect(text.text).not.toBe('');
      expect(text.text.isWellFormed()).toBe(true);
    }
  });

  it('number at most fifty, including the link', () => {
    const facts = Array.from({ length: 200 }, (_, i) => ({ name: `fact ${i}`, value: 'x' }));
    const blocks = blocksOf({ facts });
    expect(blocks).toHaveLength(50);
    expect(blocks.at(-1)?.text.text).toContain('/alerts/');
  });

  it('have a non-empty header even if the title is blank', () => {
    expect(blocksOf({ title: '  ' })[0]?.text.text).toBe('alert.opened');
  });

  it('escape the three special characters without truncating an entity', () => {
    const [, fact] = blocksOf({ facts: [{ name: 'Where', value: '<!here> & <https://x|y>' }] });
    expect(fact?.text.text).toBe('*Where*\n&lt;!here&gt; &amp; &lt;https://x|y&gt;');
    const [, long] = blocksOf({ facts: [{ name: 'Where', value: '&'.repeat(2000) }] });
    expect(long?.text.text.replaceAll('&amp;', '')).toBe('*Where*\n…');
  });
});

describe.each(WEBHOOK_FORMATS)('a truncated text in a %s message', (format) => {
  it.each([149, 150, 199, 999, 1000, 3999, 4000])('keeps the character at %i intact', (length) => {
    const text = `${'x'.repeat(length)}🔐 läuft ab`;
    // A lone surrogate would be written as an escape.
    expect(webhookBody(message(text), format)).not.toMatch(/\\ud[89a-f][0-9a-f]{2}/i);
  });

  it('contains no lone surrogate from the input', () => {
    expect(webhookBody(message('a\ud83d b'), format)).not.toMatch(/\\ud83d/i);
  });
});

it.each(['slack', 'teams'] as const)('%s receives no control characters and no bidirectional overrides', (format) => {
  const title = 'db1\r\n\u0007is\u0000 \u202efine';
  const facts = [{ name: 'Wh\u001b[31my', value: 'first\r\n\u2066second\u2028third' }];
  const body = webhookBody({ ...message('x'), title, facts }, format);
  const shown = JSON.stringify(JSON.parse(body));
  expect(shown).not.toMatch(/\\u00|\\r|[\u2028\u202e\u2066]/);
  expect(shown).toContain('"text":"db1 is fine"');
  expect(shown).toContain(String.raw`first\n second third`);
});
