import { shorten, withoutControls } from '../../platform/text/truncate.js';
import type { WebhookFormat } from './webhook-endpoint.entity.js';

/** WebhookMessage describes an event, for programs and for people. */
export interface WebhookMessage {
  /** ID of the event, which `GET /api/v1/events` returns as well. Absent from tests. */
  readonly id?: string;
  /** Type of the event, such as `approval.requested`. */
  readonly type: string;
  /** Whether the message is a test with example data. */
  readonly isTest?: true;
  readonly at: Date;
  /** For programs: identifiers and facts, without secrets. The whole message is limited to 20,000 bytes. */
  readonly data: Record<string, unknown>;
  /** For people: one line of text. */
  readonly title: string;
  /** For people, as plain text: what happened, where, why, and what to do. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  /** URL of the console page with details. */
  readonly link?: string;
}

const MAX_BYTES = 20_000;
const MAX_FACT = 1000;
/** Limits of Slack's Block Kit, in UTF-16 code units after escaping. Slack rejects a message that exceeds a limit (`invalid_blocks`). */
const SLACK = { header: 150, section: 3000, blocks: 50, name: 200 } as const;

/**
 * Maximum string lengths in a message, in characters. The first length that keeps the message within MAX_BYTES is used. No identifier is longer than the last
 * length.
 */
const LENGTHS = [4000, 1000, 300, 100] as const;

/**
 * webhookBody returns the body of a message in the receiver's format. Facts can contain long external text, so strings are truncated until the message is
 * within the size limit of Standard Webhooks.
 */
export function webhookBody(message: WebhookMessage, format: WebhookFormat): string {
  for (const length of LENGTHS) {
    const { title, facts, data } = message;
    const body = JSON.stringify(BODIES[format]({ ...message, ...cutTo(length, { title, facts, data }) }));
    if (Buffer.byteLength(body) <= MAX_BYTES) return body;
  }
  throw new Error(`a message of type ${message.type} has too many parts`);
}

/** Truncates every string in a value, without splitting characters. */
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

/** Prepares a message for display, with a single-line title as in emails. Removes control characters, which could hide or reorder text. */
function visible(message: WebhookMessage): WebhookMessage {
  const shown = (text: string) => text.split(/\r?\n/).map(withoutControls).join('\n');
  const facts = message.facts.map(({ name, value }) => ({ name: shown(name), value: shown(value) }));
  return { ...message, title: withoutControls(message.title).replaceAll(/\s+/g, ' '), facts };
}

function standard({ id, type, at, isTest, data }: WebhookMessage): object {
  return { id, type, timestamp: at.toISOString(), test: isTest, data };
}

/** Returns the body for a Slack incoming webhook: `text` is the notification, `blocks` are displayed. */
function slack({ type, title, facts, link }: WebhookMessage): object {
  const open = link === undefined ? [] : [section(`<${escape(link)}|Open>`)];
  const shown = facts.slice(0, SLACK.blocks - 1 - open.length);
  return {
    text: escape(title),
    blocks: [
      // Slack rejects an empty header.
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

/** Returns a section block. With `verbatim`, Slack does not convert external text to links or mentions. */
function section(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

/** Escapes and truncates text, so that the result has at most `max` code units. An escaped ampersand has five code units. */
function escapedWithin(text: string, max: number): string {
  let kept = shorten(text, max);
  for (let escaped = escape(kept); escaped.length > max; escaped = escape(kept))
    kept = shorten(text, Math.max(1, Math.floor((kept.length * max) / escaped.length) - 1));
  return escape(kept);
}

/** Escapes the control characters of Slack's mrkdwn, so that text such as a host name cannot mention a channel or create a link. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Returns a message with an Adaptive Card, as expected by the workflow "When a Teams webhook request is received". */
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

/** Escapes Markdown, because Adaptive Cards render Markdown and external text must not create links or emphasis. */
function plain(text: string): string {
  return text.replaceAll(/[[\]*_`\\]/g, (sign) => `\\${sign}`);
}
