import type { WebhookFormat } from './webhook-endpoint.entity.js';

/** What happened, for programs and for people. */
export interface WebhookMessage {
  /** `area.happening`, for example `approval.requested`. Stable. */
  readonly type: string;
  readonly at: Date;
  /** For programs: identifiers and facts. Never a secret. The whole message may have 20,000 bytes. */
  readonly data: Record<string, unknown>;
  /** For people: one line. */
  readonly title: string;
  /** For people: what, where, why, what to do; plain text. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  /** Where to look. */
  readonly link?: string;
}

const MOST_BYTES = 20_000;
const MOST_FACT = 1000;

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
    if (Buffer.byteLength(body) <= MOST_BYTES) return body;
  }
  throw new Error(`a message of the type ${message.type} has too many parts`);
}

/** The value with every text in it cut to so many characters. */
function cutTo<Value>(length: number, value: Value): Value {
  if (typeof value === 'string')
    return (value.length > length ? `${value.slice(0, length - 1).toWellFormed()}…` : value) as Value;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => cutTo(length, item)) as Value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, cutTo(length, member as unknown)]),
  ) as Value;
}

const BODIES: Record<WebhookFormat, (message: WebhookMessage) => object> = { standard, slack, teams };

function standard({ type, at, data }: WebhookMessage): object {
  return { type, timestamp: at.toISOString(), data };
}

/** An incoming webhook of Slack: `text` is the notification, blocks are what is shown. */
function slack({ title, facts, link }: WebhookMessage): object {
  const fields = facts.map(({ name, value }) => `*${escape(name)}*\n${escape(value.slice(0, MOST_FACT))}`);
  return {
    text: escape(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title.slice(0, 150), emoji: false } },
      ...fields.map((text) => ({ type: 'section', text: { type: 'mrkdwn', text } })),
      ...(link === undefined ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${link}|Open>` } }]),
    ],
  };
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
        facts: facts.map(({ name, value }) => ({ title: name, value: plain(value.slice(0, MOST_FACT)) })),
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
