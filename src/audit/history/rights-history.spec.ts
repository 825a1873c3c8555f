import { describe, expect, it } from 'vitest';
import { RightsHistory } from './rights-history.js';
import { applyEntry } from './rights-rules.js';

const id = (index: number) => `019abcde-0000-7000-8000-00000000000${index}`;

/** Applies entries about one policy in the order in which the log numbers them; `at` is the order in which they were written. */
function policyAfter(...entries: readonly { readonly action: string; readonly at: number }[]): RightsHistory {
  const history = new RightsHistory();
  for (const { action, at } of entries)
    applyEntry(history, { id: id(at), action: `approval-policy.${action}`, actorId: 'ann', targetId: 'p', detail: {} });
  return history;
}

it('the revision of a policy is read from its last change', () => {
  const history = policyAfter({ action: 'created', at: 1 }, { action: 'changed', at: 2 }, { action: 'changed', at: 3 });
  expect(history.policiesBehind([{ id: 'p', revision: 2 }])).toEqual([{ id: 'p', revision: 2, logged: 3 }]);
  expect(history.policiesBehind([{ id: 'p', revision: 3 }])).toEqual([]);
});

it.each([['changed'], ['created']])('a removed policy stays removed when an entry "%s" is logged late', (action) => {
  const history = policyAfter({ action: 'created', at: 1 }, { action: 'removed', at: 3 }, { action, at: 4 });
  expect(history.policiesBehind([])).toEqual([]);
  expect(history.policiesBehind([{ id: 'p', revision: 1 }])).toEqual([{ id: 'p', revision: 1, logged: 0 }]);
});

interface Said {
  readonly actorId?: string;
  readonly targetId?: string;
  readonly detail?: Record<string, unknown>;
}

/** Applies entries about the user eve in the order in which the log numbers them; the first member is the order in which they were written. */
function userAfter(...entries: readonly (readonly [at: number, action: string, said?: Said])[]): RightsHistory {
  const history = new RightsHistory();
  for (const [at, action, said] of entries)
    applyEntry(history, { id: id(at), action, actorId: 'admin', targetId: 'eve', detail: {}, ...said });
  return history;
}

const lowered = { detail: { roles: ['viewer'] } };
const added = (factor: string) => ({ actorId: 'eve', targetId: factor });

describe('an entry that is logged late counts despite newer entries', () => {
  const votes = { id: 'eve', scope: 'approvals:approve', at: Date.now() } as const;

  it.each<[string, readonly [number, string, Said?]]>([
    ['an authenticator', [3, 'second-factor.added', added('f')]],
    ['groups', [3, 'user.groups-from-provider', { detail: { provider: 'idp', groups: ['release'] } }]],
    ['being enabled', [3, 'user.changed', { detail: { disabled: false } }]],
  ])('about %s of the same user', (_, newer) => {
    const history = userAfter([1, 'user.created', { detail: { roles: ['approver'] } }], newer, [
      2,
      'user.changed',
      lowered,
    ]);
    expect(history.objectionTo(votes)).toBe('no role of the account eve includes the approvals:approve scope');
  });

  it('but does not override newer entries about the same fact', () => {
    const history = userAfter(
      [1, 'user.created', lowered],
      [3, 'user.changed', { detail: { roles: ['approver'] } }],
      [2, 'user.changed', lowered],
    );
    expect(history.objectionTo(votes)).toBeUndefined();
  });

  it('and keeps an added authenticator until it is removed or all are reset', () => {
    const roles: readonly [number, string, Said] = [4, 'user.changed', { detail: { roles: ['approver'] } }];
    expect(userAfter(roles, [3, 'second-factor.added', added('f')]).hasFactor('eve')).toBe(true);
    const removed = userAfter([3, 'second-factor.removed', added('f')], [2, 'second-factor.added', added('f')]);
    expect(removed.hasFactor('eve')).toBe(false);
    expect(userAfter([3, 'second-factor.reset'], [2, 'second-factor.added', added('f')]).hasFactor('eve')).toBe(false);
    expect(userAfter([3, 'second-factor.added', added('f')], [2, 'second-factor.reset']).hasFactor('eve')).toBe(true);
  });

  it('and rejects a removed authenticator and earlier rows of its account', () => {
    const edited = { ...added('f'), detail: { accountEdit: 7 } };
    const removed = userAfter([2, 'second-factor.added', added('f')], [3, 'second-factor.removed', edited]);
    expect([...removed.revoked.keys()]).toEqual(['f']);
    expect(removed.edits.get('eve')).toBe(7);
    const reset = userAfter([2, 'second-factor.added', added('f')], [3, 'second-factor.reset']);
    expect([...reset.revoked.keys()]).toEqual(['f']);
  });

  it('about an issuer, which counts until it is disabled or removed', () => {
    const origins = (...changes: [string, object?][]) => [
      ...userAfter(...changes.map(([action, detail = {}], at) => [at, action, { detail }] as [number, string, Said]))
        .origins,
    ];
    const created: [string, object] = ['workload-issuer.created', { enabled: true }];
    expect(origins(created)).toEqual([['eve', 'workload-issuer']]);
    expect(origins(created, ['workload-issuer.changed', { enabled: false }])).toEqual([]);
    expect(origins(created, ['workload-issuer.removed'])).toEqual([]);
    expect(origins(['identity-provider.changed', { enabled: true }])).toEqual([['eve', 'identity-provider']]);
  });

  it('about a policy, with the revision that the change made', () => {
    const history = new RightsHistory();
    const change = (at: number, revision: number) =>
      applyEntry(history, {
        id: id(at),
        action: 'approval-policy.changed',
        actorId: 'ann',
        targetId: 'p',
        detail: { revision },
      });
    change(3, 3);
    change(2, 2);
    expect(history.policiesBehind([{ id: 'p', revision: 2 }])).toEqual([{ id: 'p', revision: 2, logged: 3 }]);
  });
});

it('a removed named member cannot vote through the earlier row, even if the group maps provider groups', () => {
  const detail = { name: 'g', members: ['bob'], ssoGroups: [{ provider: 'idp', group: 'release' }] };
  const history = userAfter([1, 'approver-group.changed', { targetId: 'g', detail }]);
  const vote = { id: 'eve', groupId: 'g', at: Date.now() };
  expect(history.objectionTo({ ...vote, membership: 'named' })).toMatch(/is not a member of the approver group g/);
  expect(history.objectionTo({ ...vote, membership: { provider: 'idp', group: 'release' } })).toBeUndefined();
});

it('a person is judged by the group of the provider through which they belong, not by groups of other providers', () => {
  const [corp, partner] = [
    { provider: 'corp', group: 'release' },
    { provider: 'partner', group: 'devs' },
  ];
  const detail = { name: 'g', members: [], ssoGroups: [corp, partner] };
  const lost = { targetId: 'eve', detail: { provider: 'corp', groups: [] } };
  const history = userAfter([1, 'approver-group.changed', { targetId: 'g', detail }], [2, 'auth.signed-in', lost]);
  const vote = { id: 'eve', groupId: 'g', at: Date.now() };
  expect(history.objectionTo({ ...vote, membership: corp })).toMatch(/is not a member of the approver group g/);
  expect(history.objectionTo({ ...vote, membership: partner })).toBeUndefined();
});

describe('rows that an operator accepted', () => {
  const edited = (targetId: string, edit: number) => ({ targetId, detail: { edit } });
  const accepted = (edits: unknown) => ({ targetId: 'secrets', detail: { policySet: 1, policies: [], edits } });

  it('count with the edit that was accepted, and earlier rows of other people stay invalid', () => {
    const history = userAfter(
      [1, 'user.changed', edited('ann', 5)],
      [2, 'user.changed', edited('eve', 7)],
      [3, 'rows.accepted', accepted([['ann', 2]])],
    );
    expect([...history.edits]).toEqual([
      ['ann', 2],
      ['eve', 7],
    ]);
  });

  it('are not accepted again by a repeated entry', () => {
    const acceptance = [2, 'rows.accepted', accepted([['ann', 2]])] as const;
    const history = userAfter(
      [1, 'user.changed', edited('ann', 5)],
      acceptance,
      [3, 'user.changed', edited('ann', 3)],
      acceptance,
    );
    expect(history.edits.get('ann')).toBe(3);
  });
});
