import { describe, expect, it } from 'vitest';
import { WEBHOOK_FORMATS } from './webhook-endpoint.entity.js';
import { webhookBody, type WebhookMessage } from './webhook-message.js';

const ID = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
const message = (text: string): WebhookMessage => ({
  type: 'alert.opened',
  at: new Date('2027-01-01T00:00:00Z'),
  data: { alertId: ID, subject: { id: ID, name: text }, facts: { where: text, why: text, said: text } },
  title: text,
  facts: ['What', 'Where', 'Why', 'When'].map((name) => ({ name, value: text })),
  link: `https://sealwright.example/alerts/${ID}`,
});

describe.each(WEBHOOK_FORMATS)('a message in the format %s', (format) => {
  it('is whole when it is short', () => {
    expect(webhookBody(message('db1.example'), format)).toContain('db1.example');
  });

  it.each(['\u0001', '&', '🔑', '"', 'a'])(
    'has no more than 20,000 bytes, however long its texts of %j are',
    (sign) => {
      const body = webhookBody(message(sign.repeat(5000)), format);
      expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
      expect(body).toContain(ID);
      expect(body.isWellFormed()).toBe(true);
      expect(JSON.stringify(JSON.parse(body))).toBe(body);
    },
  );
});
