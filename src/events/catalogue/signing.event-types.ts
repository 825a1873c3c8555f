import {
  type EventEntry,
  type EventSource,
  type EventType,
  count,
  id,
  moment,
  optional,
  part,
  picked,
  text,
} from './event-type.js';

const ACCEPTED = 'signing.accepted';

const REQUEST = {
  requestId: id('ID of the signing request.'),
  key: optional(text('Name of the signing key.', 'release')),
  keyId: optional(id('ID of the signing key.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12')),
  digest: optional(text('Digest to be signed, base64.', 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=')),
  format: optional(text('Format of the signature.', 'raw')),
  reference: optional(text("The caller's own name for the request.", 'build 4711')),
  requester: optional(
    part('The caller that made the request.', {
      kind: text('`user`, `api-key`, `oauth-client` or `workload`.', 'api-key'),
      id: text('ID of the caller.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13'),
      name: text('Name of the caller.', 'release pipeline'),
    }),
  ),
};
const CODE = { code: text('Problem code of the reason; see errors.md.', 'signing-key.disabled') };

function requestData({ target }: EventEntry, opening: EventEntry | undefined): Record<string, unknown> {
  return {
    requestId: target.id,
    ...picked(opening?.detail ?? {}, 'key', 'keyId', 'digest', 'format', 'reference'),
    ...(opening === undefined ? {} : { requester: opening.actor }),
  };
}

function failed(when: (code: string) => boolean): EventSource[] {
  return [
    {
      action: 'signing.failed',
      opening: ACCEPTED,
      when: ({ detail }) => when(String(detail['code'])),
      data: (entry, opening) => ({ ...requestData(entry, opening), code: entry.detail['code'] }),
    },
  ];
}

const EXPIRED = ['signing.expired', 'approval.expired'];
const OTHER_ENDS = [...EXPIRED, 'approval.rejected', 'approval.withdrawn'];
const waiting = (entry: EventEntry, opening: EventEntry | undefined) => ({
  ...requestData(entry, opening),
  approvalId: entry.detail['approval'],
});
const OWN_REQUESTS = { permission: 'sign:read', isOwnOnly: true, keyMember: 'key' } as const;

/** Events of signing requests. */
export const SIGNING_REQUEST_EVENTS = {
  'signing-request.waiting': {
    ...OWN_REQUESTS,
    description: 'A signing request is waiting for an approval.',
    data: { ...REQUEST, approvalId: id('ID of the approval.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d14') },
    sources: [
      { action: ACCEPTED, when: ({ detail }) => detail['to'] === 'PENDING_APPROVAL', opening: ACCEPTED, data: waiting },
      { action: 'signing.approval-renewed', opening: ACCEPTED, data: waiting },
    ],
  },
  'signing-request.signed': {
    ...OWN_REQUESTS,
    description: 'A signing request was signed. Read the request to get the signature.',
    data: {
      ...REQUEST,
      signatureSha256: text('SHA-256 of the signature, base64.', 'LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564='),
    },
    sources: [
      {
        action: 'signing.signed',
        opening: ACCEPTED,
        data: (entry, opening) => ({ ...requestData(entry, opening), ...picked(entry.detail, 'signatureSha256') }),
      },
    ],
  },
  'signing-request.failed': {
    ...OWN_REQUESTS,
    description: 'A signing request failed.',
    data: { ...REQUEST, ...CODE },
    sources: failed((code) => !OTHER_ENDS.includes(code)),
  },
  'signing-request.expired': {
    ...OWN_REQUESTS,
    description: 'A signing request was not approved or signed in time.',
    data: { ...REQUEST, code: text('`approval.expired` or `signing.expired`.', 'approval.expired') },
    sources: failed((code) => EXPIRED.includes(code)),
  },
  'signing-request.rejected': {
    ...OWN_REQUESTS,
    description: 'The approval of a signing request was rejected.',
    data: { ...REQUEST, code: text('`approval.rejected`.', 'approval.rejected') },
    sources: failed((code) => code === 'approval.rejected'),
  },
  'signing-request.withdrawn': {
    ...OWN_REQUESTS,
    description: 'A signing request was withdrawn, or its requester lost the right to make it.',
    data: { ...REQUEST, code: text('`approval.withdrawn`.', 'approval.withdrawn') },
    sources: failed((code) => code === 'approval.withdrawn'),
  },
} satisfies Record<string, EventType>;

const KEY = {
  keyId: id('ID of the signing key.'),
  name: optional(text('Name of the signing key.', 'release')),
  type: optional(text('Type of the signing key.', 'ec-p256')),
  actor: part('The caller or the component of the service that caused the event.', {
    kind: text('`user`, `api-key`, `oauth-client` or `system`.', 'user'),
    id: text('ID of the actor.', '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d13'),
    name: text('Name of the actor.', 'Ann Lee'),
  }),
};

/** Returns the source of a signing key event: successful entries with this action. */
function keyAction(action: string, ...facts: string[]): EventSource[] {
  return [
    {
      action: `signing-key.${action}`,
      when: ({ outcome }) => outcome === 'done',
      opening: 'signing-key.requested',
      data: ({ target, actor, detail }, opening) => ({
        keyId: target.id,
        ...picked(opening?.detail ?? {}, 'name', 'type'),
        actor,
        ...picked(detail, ...facts),
      }),
    },
  ];
}

const KEYS = { permission: 'signing-keys:read', keyMember: 'name' } as const;

/** Events of signing keys. */
export const SIGNING_KEY_EVENTS = {
  'signing-key.created': {
    ...KEYS,
    description: 'A signing key was generated.',
    data: KEY,
    sources: keyAction('generated'),
  },
  'signing-key.rotated': {
    ...KEYS,
    description: 'A new version of a signing key was generated.',
    data: {
      ...KEY,
      from: count('Version that was active before.', 1),
      version: count('The new version.', 2),
      activate: text('When the new version starts signing: `now` or `with-certificate`.', 'now'),
    },
    sources: keyAction('rotated', 'from', 'version', 'activate'),
  },
  'signing-key.disabled': {
    ...KEYS,
    description: 'A signing key was disabled.',
    data: KEY,
    sources: keyAction('disabled'),
  },
  'signing-key.enabled': {
    ...KEYS,
    description: 'A signing key was enabled.',
    data: KEY,
    sources: keyAction('enabled'),
  },
  'signing-key.destruction-scheduled': {
    ...KEYS,
    description: 'The destruction of a signing key was scheduled.',
    data: { ...KEY, destroyAt: moment('Time at which the private keys are destroyed.') },
    sources: keyAction('destruction-scheduled', 'destroyAt'),
  },
  'signing-key.destruction-cancelled': {
    ...KEYS,
    description: 'The scheduled destruction of a signing key was cancelled.',
    data: KEY,
    sources: keyAction('destruction-called-off'),
  },
  'signing-key.destroyed': {
    ...KEYS,
    description: 'The private keys of a signing key were destroyed.',
    data: KEY,
    sources: keyAction('destroyed'),
  },
} satisfies Record<string, EventType>;
