import { describe, expect, it } from 'vitest';
import type { EntryRow } from '../../audit/entries/entry-row.js';
import type { Scope } from '../../access/scopes.js';
import { type EventViewer, maySee } from './event-viewer.js';
import { loggedEvent } from './logged-event.js';

const entry = (action: string, detail: Record<string, unknown> = {}, more: Partial<EntryRow> = {}): EntryRow => ({
  id: 'entry',
  at: '2026-11-20T14:00:00.123456Z',
  action,
  outcome: 'done',
  actorKind: 'user',
  actorId: 'ann',
  actorName: 'Ann',
  targetKind: 'signing-request',
  targetId: 'request',
  correlation: '',
  source: '192.0.2.1',
  detail,
  record: null,
  seal: null,
  ...more,
});
const ACCEPTED = entry('signing.accepted', { to: 'QUEUED', owner: 'ann', key: 'release', reference: 'r 1' });
const WORKLOAD = entry('signing.accepted', { owner: 'ann', trust: 'ci', issuer: 'https://ci', subject: 'repo:shop' });
const typeOf = (row: EntryRow) => loggedEvent(row, 7, ACCEPTED)?.type;

const viewer = (scopes: Scope[], more: Partial<EventViewer> = {}): EventViewer => ({
  scopes: new Set(scopes),
  callerId: 'ann-key',
  ownerId: 'ann',
  keys: [],
  groups: new Set(),
  ...more,
});

describe('an audit entry', () => {
  it.each([
    ['approval.rejected', 'signing-request.rejected'],
    ['approval.withdrawn', 'signing-request.withdrawn'],
    ['approval.expired', 'signing-request.expired'],
    ['signing.expired', 'signing-request.expired'],
    ['signing-key.disabled', 'signing-request.failed'],
    ['signing.worker-lost', 'signing-request.failed'],
  ])('about a request that ended with %s is the event %s', (code, type) => {
    expect(typeOf(entry('signing.failed', { to: 'FAILED', code }, { outcome: 'failed' }))).toBe(type);
  });

  it.each([
    ['signing.claimed', {}],
    ['signing.accepted', { to: 'PROCESSING' }],
    ['signing.released', { to: 'QUEUED' }],
    ['ssh-rotation.done', { to: 'KEY_REMOVED', hostId: 'host' }],
    ['constructor', {}],
    ['event.announced', { type: 'no.event' }],
  ])('%s is not an event', (action, detail) => {
    expect(typeOf(entry(action, detail))).toBeUndefined();
  });

  it('about a refused action is not an event', () => {
    expect(typeOf(entry('signing-key.disabled'))).toBe('signing-key.disabled');
    expect(typeOf(entry('signing-key.disabled', {}, { outcome: 'failed' }))).toBeUndefined();
  });

  it('becomes an event with the facts of the first entry about its target', () => {
    expect(loggedEvent(entry('signing.signed', { signatureSha256: 'x' }), 7, ACCEPTED)).toEqual({
      id: 'entry',
      index: 7,
      type: 'signing-request.signed',
      timestamp: '2026-11-20T14:00:00.123Z',
      subject: { kind: 'signing-request', id: 'request' },
      owner: 'ann',
      data: {
        requestId: 'request',
        key: 'release',
        reference: 'r 1',
        requester: { kind: 'user', id: 'ann', name: 'Ann' },
        signatureSha256: 'x',
      },
    });
  });
});

describe('an event about a request', () => {
  const signed = (opening: EntryRow | undefined) => loggedEvent(entry('signing.signed'), 7, opening)!;
  const run = (sub: string, trust = 'ci') =>
    viewer(['sign:read'], {
      identity: { trust: { id: '1', name: trust }, claims: { iss: 'https://ci', sub } } as never,
    });

  it('is for its owner with the permission, and for readers of the audit log', () => {
    expect(maySee(viewer(['sign:read']), signed(ACCEPTED))).toBe(true);
    expect(maySee(viewer(['sign:digest', 'audit:read']), signed(ACCEPTED))).toBe(false);
    expect(maySee(viewer(['sign:read'], { ownerId: 'bob' }), signed(ACCEPTED))).toBe(false);
    expect(maySee(viewer(['sign:read', 'audit:read'], { ownerId: 'bob' }), signed(ACCEPTED))).toBe(true);
    expect(maySee(viewer(['admin:*'], { ownerId: 'bob' }), signed(ACCEPTED))).toBe(true);
  });

  it('is for nobody but readers of the audit log if its owner is unknown', () => {
    expect(maySee(viewer(['sign:read']), signed(undefined))).toBe(false);
    expect(maySee(viewer(['sign:read'], { ownerId: '' }), signed(undefined))).toBe(false);
    expect(maySee(viewer(['sign:read', 'audit:read']), signed(undefined))).toBe(true);
  });

  it('of a workload is for runs of the same workload', () => {
    expect(maySee(run('repo:shop'), signed(WORKLOAD))).toBe(true);
    expect(maySee(run('repo:other'), signed(WORKLOAD))).toBe(false);
    expect(maySee(run('repo:shop', 'other'), signed(WORKLOAD))).toBe(false);
    expect(maySee(run('repo:shop'), signed(ACCEPTED))).toBe(false);
  });
});

describe('an event about an approval', () => {
  const announced = (facts: object) =>
    loggedEvent(entry('event.announced', { type: 'approval.requested', data: {}, ...facts }), 7, undefined)!;
  const event = announced({ owner: 'ann', groups: ['managers', 'lawyers'] });

  it('is for its requester, for members of its approver groups and for readers of the audit log', () => {
    const bob = (more: Partial<EventViewer>) => viewer(['approvals:read'], { ownerId: 'bob', ...more });
    expect(maySee(viewer(['approvals:read']), event)).toBe(true);
    expect(maySee(bob({}), event)).toBe(false);
    expect(maySee(bob({ groups: new Set(['lawyers']) }), event)).toBe(true);
    expect(maySee(bob({ groups: new Set(['testers']) }), event)).toBe(false);
    expect(maySee(viewer(['approvals:read', 'audit:read'], { ownerId: 'bob' }), event)).toBe(true);
    expect(maySee(viewer(['sign:read'], { groups: new Set(['lawyers']) }), event)).toBe(false);
  });

  it('that was recorded without its parties is only for readers of the audit log', () => {
    const earlier = announced({});
    expect(maySee(viewer(['approvals:read'], { groups: new Set(['lawyers']) }), earlier)).toBe(false);
    expect(maySee(viewer(['approvals:read', 'audit:read']), earlier)).toBe(true);
  });
});

describe('an event about an import', () => {
  const announced = (facts: object) =>
    loggedEvent(
      entry('event.announced', { type: 'import.completed', owner: 'ann', data: {}, ...facts }),
      7,
      undefined,
    )!;

  it('is for the credential that sent the document, and for its owner with the permission to write', () => {
    const event = announced({ caller: 'sensor' });
    expect(maySee(viewer(['inventory:report'], { callerId: 'sensor' }), event)).toBe(true);
    expect(maySee(viewer(['inventory:report'], { callerId: 'other' }), event)).toBe(false);
    expect(maySee(viewer(['inventory:report', 'inventory:write']), event)).toBe(true);
    expect(maySee(viewer(['inventory:report', 'inventory:write'], { ownerId: 'bob' }), event)).toBe(false);
  });

  it('that was recorded without the credential is not for credentials that may only report', () => {
    expect(maySee(viewer(['inventory:report']), announced({}))).toBe(false);
    expect(maySee(viewer(['inventory:report', 'inventory:write']), announced({}))).toBe(true);
  });
});

describe('an event that names a signing key', () => {
  const requested = entry(
    'signing-key.requested',
    { name: 'release-1', type: 'ec-p256' },
    { targetKind: 'signing-key' },
  );
  const created = (opening: EntryRow | undefined) => loggedEvent(entry('signing-key.generated'), 7, opening)!;

  it('is for viewers whose credentials all include the key', () => {
    const limited = (...keys: EventViewer['keys']) => viewer(['signing-keys:read', 'audit:read'], { keys });
    expect(maySee(limited(), created(requested))).toBe(true);
    expect(maySee(limited(undefined, null), created(requested))).toBe(true);
    expect(maySee(limited(['release-*']), created(requested))).toBe(true);
    expect(maySee(limited(['release-*'], ['test-*']), created(requested))).toBe(false);
    expect(maySee(limited(['*']), created(undefined))).toBe(false);
    expect(maySee(limited(undefined), created(undefined))).toBe(true);
    const signed = loggedEvent(entry('signing.signed'), 7, ACCEPTED)!;
    expect(maySee(viewer(['sign:read'], { keys: [['release']] }), signed)).toBe(true);
    expect(maySee(viewer(['sign:read'], { keys: [['other']] }), signed)).toBe(false);
  });
});
