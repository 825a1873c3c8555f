import { shorten, withoutControls } from '../text/truncate.js';
import type { WebhookFormat } from './webhook-endpoint.entity.js';
import type { WebhookEvent } from './webhook-events.js';

/** A message about an event, for programs and for people. */
export interface WebhookMessage {
  /** For example `approval.requested`. */
  readonly type: WebhookEvent;
  readonly at: Date;
  /** For programs: identifiers and facts. Never a secret. The whole message may have 20,000 bytes. */
  readonly data: Record<string, unknown>;
  /** For people: one line. */
  readonly title: string;
  /** For people: what, where, why, what to do; plain text. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  /** Page of the console that shows it. */
  readonly link?: string;
}

const MAX_BYTES = 20_000;
const MAX_FACT = 1000;
/** Slack's Block Kit: a message that breaks one of these is refused as a whole, `invalid_blocks`. In UTF-16 code units, escaped. */
const SLACK = { header: 150, section: 3000, blocks: 50, name: 200 } as const;

/** Longest text in a message, in characters: the first of these with which it is short enough. No identifier is as long as the last. */
const LENGTHS = [4000, 1000, 300, 100] as const;

/**
 * The body of a message in the format of its receiver. Facts come from outside, and one message that is too long for Standard Webhooks
 * must not hold up all others, so its texts are cut.
 */
export function webhookBody(message: WebhookMessage, format: WebhookFormat): string {
  for (const length of LENGTHS) {
    const { title, facts, data } = message;
    const body = JSON.stringify(BODIES[format]({ ...message, ...cutTo(length, { title, facts, data }) }));
    if (Buffer.byteLength(body) <= MAX_BYTES) return body;
  }
  throw new Error(`a message of the type ${message.type} has too many parts`);
}

/** The value with every text in it cut to so many characters, whole ones. */
function cutTo<Value>(length: number, value: Value): Value {
  if (typeof value === 'string') return shorten(value, length) as Value;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => cutTo(length, item)) as Value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), cutTo(length, member as unknown)]),
  ) as Value;
}

const BODIES: Record<WebhookFormat, (message: WebhookMessage) => object> = {
  standard,
  slack: (message) => slack(visible(message)),
  teams: (message) => teams(visible(message)),
};

/** The message as people may be shown it, its title on one line, as in mails. What hides or turns round a text is not what was said. */
function visible(message: WebhookMessage): WebhookMessage {
  const shown = (text: string) => text.split(/\r?\n/).map(withoutControls).join('\n');
  const facts = message.facts.map(({ name, value }) => ({ name: shown(name), value: shown(value) }));
  return { ...message, title: withoutControls(message.title).replaceAll(/\s+/g, ' '), facts };
}

function standard({ type, at, data }: WebhookMessage): object {
  return { type, timestamp: at.toISOString(), data };
}

/** An incoming webhook of Slack: `text` is the notification, blocks are what is shown. */
function slack({ type, title, facts, link }: WebhookMessage): object {
  const open = link === undefined ? [] : [section(`<${escape(link)}|Open>`)];
  const shown = facts.slice(0, SLACK.blocks - 1 - open.length);
  return {
    text: escape(title),
    blocks: [
      // A header without a character is refused.
      { type: 'header', text: { type: 'plain_text', text: shorten(title.trim() || type, SLACK.header), emoji: false } },
      ...shown.map(slackFact),
      ...open,
    ],
  };
}

function slackFact({ name, value }: WebhookMessage['facts'][number]): object {
  const head = `*${escapedWithin(name, SLACK.name)}*\n`;
  return section(head + escapedWithin(shorten(value, MAX_FACT), SLACK.section - head.length));
}

/** Verbatim: Slack makes no link of an address, and no mention of a name, in what comes from outside. */
function section(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

/** Cuts a text so that it has at most `max` code units when it is escaped: an ampersand takes five. */
function escapedWithin(text: string, max: number): string {
  let kept = shorten(text, max);
  for (let escaped = escape(kept); escaped.length > max; escaped = escape(kept))
    kept = shorten(text, Math.max(1, Math.floor((kept.length * max) / escaped.length) - 1));
  return escape(kept);
}

/** The three characters that mean something in Slack's mrkdwn: nobody mentions a channel or makes a link by the name of a host. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A message with an Adaptive Card, as the workflow "When a Teams webhook request is received" takes it. */
function teams({ title, facts, link }: WebhookMessage): object {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      { type: 'TextBlock', text: plain(title), weight: 'Bolder', size: 'Medium', wrap: true },
      {
        type: 'FactSet',
        facts: facts.map(({ name, value }) => ({ title: plain(name), value: plain(shorten(value, MAX_FACT)) })),
      },
    ],
    actions: link === undefined ? [] : [{ type: 'Action.OpenUrl', title: 'Open', url: link }],
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

/** Adaptive Cards read links and emphasis in Markdown; what comes from outside must not become one. */
function plain(text: string): string {
  return text.replaceAll(/[[\]*_`\\]/g, (sign) => `\\${sign}`);
}
