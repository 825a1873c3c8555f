import type { NewMail } from '../../notifications/mail/mailbox.js';
import type { Announcement } from '../../events/event-announcer.service.js';
import type { Approval, NoticeKind } from '../model/approval.entity.js';
import { oneLine } from '../../platform/text/truncate.js';

const DAY = 24 * 3600;
/** Maximum length of a line with user-supplied text, in characters. */
const MAX_LINE = 1000;

/** Message type, and the first words of the title and of the email subject, by notice kind or status. */
const NOTICES = {
  requested: { type: 'approval.requested', words: 'Approval needed' },
  reminder: { type: 'approval.reminder', words: 'Approval still needed' },
  APPROVED: { type: 'approval.approved', words: 'Approved' },
  REJECTED: { type: 'approval.rejected', words: 'Rejected' },
  EXPIRED: { type: 'approval.expired', words: 'Approval expired' },
  WITHDRAWN: { type: 'approval.withdrawn', words: 'Withdrawn' },
  SUPERSEDED: { type: 'approval.superseded', words: 'Approval replaced' },
  PENDING: { type: 'approval.requested', words: 'Approval needed' },
} as const;

function wordsOf(kind: NoticeKind, { status }: Approval) {
  return NOTICES[kind === 'decided' ? status : kind];
}

/** Returns a plain-text email. The email contains no secret: the link leads to a page that requires a login. */
export function mailOf(kind: NoticeKind, approval: Approval, recipient: string, link: string): NewMail {
  const { words } = wordsOf(kind, approval);
  const asks = kind !== 'decided';
  const lines = [
    `${oneLine(approval.title, MAX_LINE)}.`,
    '',
    ...factsOf(approval).map(({ name, value }) => `${name}: ${oneLine(value, MAX_LINE)}`),
    '',
    asks ? `Review and decide: ${link}` : `View the approval: ${link}`,
    ...(asks ? ['', `SHA-256 of the document to be approved: ${approval.hash.toString('base64')}`] : []),
    '',
  ];
  return {
    recipient,
    subject: `${words}: ${approval.title}`,
    text: lines.join('\n'),
    goodForSeconds: secondsFor(kind, approval),
  };
}

const MAX_LISTED = 100;

/** Returns a digest email for two or more approvals with the same status, such as the approvals of a batch. */
export function digestMailOf(
  kind: NoticeKind,
  pending: readonly { readonly approval: Approval; readonly link: string }[],
  recipient: string,
): NewMail {
  const [first] = pending;
  if (first === undefined) throw new Error('a digest must contain at least one approval');
  const listed = pending
    .slice(0, MAX_LISTED)
    .flatMap(({ approval, link }) => [oneLine(approval.title, MAX_LINE), `  ${link}`]);
  const more = pending.length - MAX_LISTED;
  return {
    recipient,
    subject: `${wordsOf(kind, first.approval).words}: ${pending.length} requests`,
    text: [...listed, ...(more > 0 ? [`and ${more} more`] : []), ''].join('\n'),
    goodForSeconds: Math.max(...pending.map(({ approval }) => secondsFor(kind, approval))),
  };
}

export function messageOf(kind: NoticeKind, approval: Approval, at: Date, link: string): Announcement {
  const { id, status, subjectKind, subjectId, title, hash, stage, stages, expiresAt, policies } = approval;
  const { type, words } = wordsOf(kind, approval);
  return {
    type,
    subject: { kind: 'approval', id },
    ownerId: approval.ownerId,
    groupIds: approval.groupIds,
    at,
    title: `${words}: ${title}`,
    facts: factsOf(approval),
    link,
    data: {
      approvalId: id,
      status,
      subject: { kind: subjectKind, id: subjectId },
      title,
      hash: hash.toString('base64'),
      policies: policies.map(({ name }) => name),
      stage,
      group: stages[stage]?.group,
      threshold: stages[stage]?.threshold,
      requester: { id: approval.ownerId, name: approval.requesterName },
      expiresAt: expiresAt.toISOString(),
      supersededBy: approval.supersededBy ?? undefined,
    },
  };
}

/** Returns the number of seconds after which the email is discarded if unsent. An email that asks for a vote is useless once the approval has expired. */
function secondsFor(kind: NoticeKind, { expiresAt }: Approval): number {
  if (kind === 'decided') return 3 * DAY;
  return Math.max(1, Math.ceil((expiresAt.getTime() - Date.now()) / 1000));
}

/** Returns the requester as approvers see it. An API key or a client can have a person's name, so the ID of the key or client is shown as well. */
function requesterOf({ requesterName, requestedBy, ownerId }: Approval): string {
  return requestedBy === ownerId ? requesterName : `${requesterName} (a program, not a person; ID ${requestedBy})`;
}

function factsOf(approval: Approval) {
  const { policies, stages, stage, expiresAt, decidedAt, status } = approval;
  const asked = stages[stage];
  const facts = [
    { name: 'Requested by', value: requesterOf(approval) },
    { name: 'Policy', value: policies.map(({ name }) => name).join(', ') },
  ];
  return decidedAt === null
    ? [
        ...facts,
        { name: 'Approvers', value: `${asked?.threshold ?? 0} of ${asked?.group ?? ''}` },
        { name: 'Expires', value: expiresAt.toISOString() },
      ]
    : [...facts, { name: 'Outcome', value: `${status} at ${decidedAt.toISOString()}` }];
}
