import type { Announcement } from '../../events/event-announcer.service.js';
import type { WebhookMessage } from '../../notifications/webhooks/webhook-message.js';
import { ALERT_CONDITION_RULES, RISK_LEVELS } from '../model/alert-condition.js';
import type { Alert, NotificationReason } from '../model/alert.entity.js';
import type { AlertRule } from '../model/alert-rule.entity.js';
import { nameInTitle, oneLine } from '../../platform/text/truncate.js';
import { shownFacts } from '../model/alert-facts.js';

export interface AlertMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

type NotifiedAlert = Pick<
  Alert,
  | 'id' | 'status' | 'severity' | 'title' | 'subjectKind' | 'subjectId' | 'subjectName' | 'facts' | 'count' | 'notifiedCount' | 'firstAt' | 'lastAt'
>; // prettier-ignore

interface Fact {
  readonly name: string;
  readonly value: string;
}

const TITLE_PREFIX: Record<NotificationReason, string> = {
  opened: '',
  asked: '',
  again: 'Still: ',
  reopened: 'Again: ',
  resolved: 'Resolved: ',
};
const MAX_MAIL_LINE = 2000;
const SHOWN_SEPARATELY = new Set(['where', 'why']);

/** Returns an alert's notification, which both people and programs can read: event, location, reason, time and remedy. */
export function alertMessage(
  alert: NotifiedAlert,
  rule: AlertRule,
  reason: NotificationReason,
  publicUrl: string,
): Announcement {
  return {
    type: `alert.${reason}`,
    subject: { kind: 'alert', id: alert.id },
    at: alert.lastAt,
    data: {
      alertId: alert.id,
      status: alert.status,
      severity: alert.severity,
      rule: { id: rule.id, name: rule.name, condition: rule.condition },
      title: alert.title,
      subject: { kind: alert.subjectKind, id: alert.subjectId, name: alert.subjectName },
      facts: shownFacts(alert.facts),
      count: alert.count,
      firstAt: alert.firstAt,
      lastAt: alert.lastAt,
    },
    title: headline(alert, reason),
    facts: factsOf(alert, rule, reason),
    link: `${publicUrl}/alerts/${alert.id}`,
  };
}

/** certificateAnnouncement returns the event for an alert about expiring certificates. */
export function certificateAnnouncement(
  { id, subjectKind, subjectId, subjectName, facts, lastAt }: NotifiedAlert,
  rule: AlertRule,
  { title, facts: shown, link }: Announcement,
): Announcement {
  const certificate = { kind: subjectKind, id: subjectId, name: subjectName };
  const { why, where } = facts;
  return {
    type: 'certificate.expiring',
    subject: { kind: subjectKind, id: subjectId },
    at: lastAt,
    data: { certificate, alertId: id, rule: rule.name, why, where },
    title,
    facts: shown,
    link,
  };
}

/** Returns the notification as an email, in plain text and HTML. */
export function alertMail(message: WebhookMessage, severity: string): AlertMail {
  const { link = '' } = message;
  const title = nameInTitle(message.title, MAX_MAIL_LINE);
  // Reporters choose the names of sources and assets. Each value is rendered on one line without links, so that a name cannot imitate a section of the email.
  const facts = message.facts.map(({ name, value }) => ({ name, value: nameInTitle(value, MAX_MAIL_LINE) }));
  const lines = facts.map(({ name, value }) => `${name}\n  ${value}`);
  const rows = facts.map(
    ({ name, value }) =>
      `<tr><th align="left" valign="top" style="padding:4px 16px 4px 0">${escape(name)}</th>` +
      `<td style="padding:4px 0">${escape(value)}</td></tr>`,
  );
  return {
    subject: oneLine(`[${severity}] ${title}`, 200),
    text: `${title}\n\n${lines.join('\n\n')}\n\n${link}\n`,
    html:
      `<!doctype html><html lang="en"><body style="font-family:sans-serif;max-width:40em">` +
      `<h1 style="font-size:1.2em">${escape(title)}</h1><table style="border-collapse:collapse">${rows.join('')}</table>` +
      `<p><a href="${escape(link)}">Open the alert</a></p></body></html>`,
  };
}

function headline({ title, count, notifiedCount }: NotifiedAlert, reason: NotificationReason): string {
  const times = count - notifiedCount;
  const often = times > 1 && reason !== 'resolved' ? ` (${times.toLocaleString('en')} times)` : '';
  return `${TITLE_PREFIX[reason]}${title}${often}`;
}

function factsOf(alert: NotifiedAlert, rule: AlertRule, reason: NotificationReason): Fact[] {
  const { count, firstAt, lastAt } = alert;
  const facts = shownFacts(alert.facts);
  const others = Object.entries(facts).filter(([name]) => !SHOWN_SEPARATELY.has(name));
  const when =
    count > 1
      ? `${count.toLocaleString('en')} times from ${firstAt.toISOString()} to ${lastAt.toISOString()}`
      : firstAt.toISOString();
  return [
    { name: 'What', value: ALERT_CONDITION_RULES[rule.condition].headline },
    { name: 'Where', value: [alert.subjectName, facts['where']].filter(Boolean).join(', ') },
    { name: 'Why', value: String(facts['why'] ?? `This event matches the alert rule "${rule.name}".`) },
    { name: 'When', value: when },
    ...others
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => ({ name: labelOf(name), value: [value].flat().join(', ') })),
    {
      name: 'What to do',
      value:
        reason === 'resolved'
          ? 'No action is required. The condition has ended.'
          : ALERT_CONDITION_RULES[rule.condition].advice,
    },
  ];
}

/** Returns the label of a fact. Risk levels keep their names; other names are split into words. */
function labelOf(name: string): string {
  if (RISK_LEVELS.some((level) => level === name)) return name;
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
