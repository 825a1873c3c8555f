import { type EventType, anyFacts, count, id, moment, oneOf, optional, part, text, texts } from './event-type.js';

const ALERT = {
  alertId: id('ID of the alert.'),
  status: oneOf('Status of the alert.', ['OPEN', 'ACKNOWLEDGED', 'RESOLVED', 'REOPENED']),
  severity: text('Severity of the rule.', 'warning'),
  rule: part('The alert rule.', {
    id: id('ID of the rule.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12'),
    name: text('Name of the rule.', 'new risks'),
    condition: text('Condition of the rule.', 'risk-threshold'),
  }),
  title: text('One-line summary of the alert.', 'New assets of a high risk'),
  subject: part('What the alert is about.', {
    kind: text('Kind of the subject.', 'source'),
    id: text('ID of the subject.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13'),
    name: text('Name of the subject.', 'https://git.example.com/shop'),
  }),
  facts: anyFacts('Facts of the condition; see alerts.md.', {
    MEDIUM: 1,
    HIGH: 1,
    examples: ['TLS 1.2', 'RSA-2048'],
  }),
  count: count('Number of occurrences.', 1),
  firstAt: moment('Time of the first occurrence.'),
  lastAt: moment('Time of the last occurrence.'),
};
const ALERTS = { permission: 'alerts:read', needsNoOwner: true, isShownInLog: true, data: ALERT } as const;

/** Alert events, which EventAnnouncer records with each notification. */
export const ALERT_EVENTS = {
  'alert.opened': { ...ALERTS, description: 'An alert was opened.' },
  'alert.again': { ...ALERTS, description: 'An open alert has new occurrences.' },
  'alert.reopened': { ...ALERTS, description: 'A resolved alert was reopened.' },
  'alert.resolved': { ...ALERTS, description: 'The condition of an alert has ended.' },
  'alert.asked': {
    ...ALERTS,
    description: 'A user resent the notifications of an alert, or tested an alert rule.',
  },
} satisfies Record<string, EventType>;

const APPROVAL = {
  approvalId: id('ID of the approval.'),
  status: oneOf('Status of the approval.', ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN', 'SUPERSEDED']),
  subject: part('The request to be approved.', {
    kind: text('Kind of the request.', 'signing-request'),
    id: text('ID of the request.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12'),
  }),
  title: text('One-line summary of the request.', 'Sign build 4711 with the key release'),
  hash: text('SHA-256 of the document that approvers see, base64.', 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg='),
  policies: texts('Names of the policies that require the approval.', ['releases']),
  stage: count('Index of the current stage, starting at 0.', 0),
  group: optional(text('Approver group of the current stage.', 'release managers')),
  threshold: optional(count('Votes that the current stage requires.', 2)),
  requester: part('The person behind the request.', {
    id: text('ID of the person.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13'),
    name: text('Name of the requester.', 'release pipeline'),
  }),
  expiresAt: moment('Time at which the approval expires.'),
  supersededBy: optional(id('ID of the approval that replaces this approval.')),
};
const APPROVALS = { permission: 'approvals:read', isOwnOnly: true, needsNoOwner: true, data: APPROVAL } as const;

/** Approval events, which EventAnnouncer records with each notice. */
export const APPROVAL_EVENTS = {
  'approval.requested': { ...APPROVALS, description: 'An approval was requested, or its next stage has begun.' },
  'approval.reminder': {
    ...APPROVALS,
    description: 'Half of the decision period of a pending approval has passed.',
  },
  'approval.approved': { ...APPROVALS, description: 'An approval was granted.' },
  'approval.rejected': { ...APPROVALS, description: 'An approval was rejected.' },
  'approval.expired': { ...APPROVALS, description: 'An approval expired without a decision.' },
  'approval.withdrawn': { ...APPROVALS, description: 'An approval was withdrawn by its requester.' },
  'approval.superseded': {
    ...APPROVALS,
    description: 'An approval was replaced because the document to be approved changed.',
  },
} satisfies Record<string, EventType>;
