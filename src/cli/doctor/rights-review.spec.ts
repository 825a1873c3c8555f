import { describe, expect, it } from 'vitest';
import { firstIdAt } from '../../platform/database/new-id.js';
import { RightsReview } from './rights-review.js';

const BEGIN = Date.parse('2026-11-28T12:00:00Z');

interface Said {
  readonly actorId?: string;
  readonly actorKind?: string;
  readonly outcome?: string;
  readonly detail?: Record<string, unknown>;
}

/** Returns the findings of a review of the entries, which are one minute apart. */
function reviewed(...entries: readonly (readonly [action: string, target: string, said?: Said])[]): string[] {
  const review = new RightsReview();
  for (const [i, [action, targetId, said]] of entries.entries()) {
    const entry = { actorId: 'admin', actorKind: 'user', outcome: 'done', detail: {}, ...said };
    const ms = BEGIN + i * 60_000;
    review.visit({ id: firstIdAt(ms), at: new Date(ms).toISOString(), action, targetId, ...entry }, i);
  }
  return review.found;
}

const REQUESTED = ['approval.requested', 'a', { detail: { stages: [{ groupId: 'g', threshold: 1 }] } }] as const;
const voteOf = (actorId: string) =>
  ['approval.approved', 'a', { actorId, detail: { stage: 0, session: 's' } }] as const;

describe('the log review reports', () => {
  it('a vote in a session that had ended', () => {
    const ended = ['session.ended', 's', { detail: { user: 'ann' } }] as const;
    expect(reviewed(REQUESTED, voteOf('ann'), ended)).toEqual([]);
    expect(reviewed(REQUESTED, ended, voteOf('ann'))).toEqual([
      'leaf 2: approval.approved of a, although the session s has ended',
    ]);
  });

  it('everything a disabled person does until the account is re-enabled', () => {
    const set = (disabled: boolean) => ['user.changed', 'ann', { detail: { disabled } }] as const;
    const act = ['signing.accepted', 'r', { actorId: 'ann' }] as const;
    expect(reviewed(set(true), act)).toEqual(['leaf 1: signing.accepted of r, although the account ann is disabled']);
    expect(reviewed(set(true), set(false), act)).toEqual([]);
    expect(reviewed(set(true), ['request.refused', 'r', { actorId: 'ann', outcome: 'refused' }])).toEqual([]);
  });

  it('a vote by a person removed from the group', () => {
    const group = (...members: string[]) =>
      ['approver-group.changed', 'g', { detail: { members, ssoGroups: [] } }] as const;
    expect(reviewed(group('ann'), REQUESTED, voteOf('ann'))).toEqual([]);
    expect(reviewed(group('ann'), group('bob'), REQUESTED, voteOf('ann'))).toEqual([
      'leaf 3: approval.approved of a, although the account ann is not a member of the approver group g',
    ]);
  });

  it('use of a revoked key, and a sign-in without the second factor', () => {
    expect(
      reviewed(['api-key.revoked', 'k'], ['signing.accepted', 'r', { actorId: 'k', actorKind: 'api-key' }]),
    ).toEqual(['leaf 1: signing.accepted of r, although the api-key k was revoked']);
    const signedIn = (...methods: string[]) =>
      ['auth.signed-in', 'ann', { actorId: 'ann', detail: { way: 'password', methods } }] as const;
    const added = ['second-factor.added', 'f', { actorId: 'ann' }] as const;
    expect(reviewed(signedIn('pwd'), added, signedIn('pwd', 'otp', 'mfa'))).toEqual([]);
    expect(reviewed(added, signedIn('pwd'))).toEqual([
      'leaf 1: auth.signed-in of ann, although the account ann has a second factor, but this sign-in did not use it',
    ]);
  });

  it('a signature accepted or claimed under outdated approval policies', () => {
    const policies = (policySet: number) =>
      ['approval-policy.created', `p${policySet}`, { detail: { policySet } }] as const;
    const judged = (action: string, policySet: number) =>
      [action, 'r', { actorKind: 'system', detail: { policySet } }] as const;
    expect(reviewed(policies(3), judged('signing.accepted', 3), judged('signing.claimed', 4))).toEqual([]);
    expect(reviewed(policies(3), policies(4), judged('signing.accepted', 3), judged('signing.claimed', 2))).toEqual([
      'leaf 2: signing.accepted of r, although the approval policies had revision 4, not 3',
      'leaf 3: signing.claimed of r, although the approval policies had revision 4, not 2',
    ]);
  });

  it('an entry that was logged twice, applying it once', () => {
    const review = new RightsReview();
    const visit = (ms: number, action: string, detail: Record<string, unknown>, index: number) => {
      const at = new Date(BEGIN + ms).toISOString();
      const by = { actorId: 'admin', actorKind: 'user', outcome: 'done', targetId: 'g' };
      review.visit({ id: firstIdAt(BEGIN + ms), at, action, ...by, detail }, index);
    };
    visit(0, 'approver-group.created', { name: 'G', members: ['ann', 'ben'] }, 0);
    visit(60_000, 'approver-group.changed', { name: 'G', members: ['ben'] }, 1);
    visit(0, 'approver-group.created', { name: 'G', members: ['ann', 'ben'] }, 2);
    expect(review.found).toEqual([`leaf 2: the entry ${firstIdAt(BEGIN)} appears twice in the log`]);
    expect(review.history.groups.get('g')?.members).toEqual(['ben']);
  });

  it('policies withheld from the log while something was signed', () => {
    const review = new RightsReview();
    const visit = (ms: number, action: string, policySet: number, index: number) => {
      const [id, at] = [firstIdAt(BEGIN + ms), new Date(BEGIN + ms).toISOString()];
      const by = { actorId: 'admin', actorKind: 'user', outcome: 'done', targetId: action };
      review.visit({ id, at, action, ...by, detail: { policySet } }, index);
    };
    visit(0, 'approval-policy.created', 1, 0);
    visit(120_000, 'signing.accepted', 1, 1);
    visit(60_000, 'approval-policy.changed', 2, 2);
    expect(review.found).toEqual([
      'signing.accepted was signed under revision 1 of the approval policies, although revision 2 was already in effect',
    ]);
  });

  it('a withheld entry that grants, without applying it after the entry that revokes', () => {
    const review = new RightsReview();
    const visit = (ms: number, members: string[], index: number) => {
      const [id, at] = [firstIdAt(BEGIN + ms), new Date(BEGIN + ms).toISOString()];
      const by = { actorId: 'admin', actorKind: 'user', outcome: 'done', targetId: 'g' };
      review.visit({ id, at, action: 'approver-group.changed', ...by, detail: { name: 'G', members } }, index);
    };
    visit(1_200_000, ['ben'], 0);
    visit(0, ['ann', 'ben'], 1);
    expect(review.found).toEqual([expect.stringContaining('long before the entries that precede it')]);
    expect(review.history.groups.get('g')?.members).toEqual(['ben']);
  });

  it('a vote, grant or signature under an ended approval, and a failed request that was claimed again', () => {
    const ended = ['approval.decided', 'a', { actorKind: 'system', detail: { to: 'REJECTED' } }] as const;
    const granted = ['approval.decided', 'a', { actorKind: 'system', detail: { to: 'APPROVED' } }] as const;
    const released = ['signing.approved', 'r', { actorKind: 'system', detail: { approval: 'a' } }] as const;
    const failed = ['signing.failed', 'r', { actorKind: 'system', detail: { to: 'FAILED' } }] as const;
    const claimed = ['signing.claimed', 'r', { actorKind: 'system' }] as const;
    expect(reviewed(REQUESTED, voteOf('ann'), granted, released, claimed, failed)).toEqual([]);
    const why = 'although the approval, request or rotation had ended';
    expect(reviewed(REQUESTED, ended, voteOf('ann'), granted, released, failed, claimed)).toEqual([
      `leaf 2: approval.approved of a, ${why}`,
      `leaf 3: approval.decided of a, ${why}`,
      `leaf 4: signing.approved of r, ${why}`,
      `leaf 6: signing.claimed of r, ${why}`,
    ]);
  });
});
