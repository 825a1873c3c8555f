import { describe, expect, it } from 'vitest';
import { firstIdAt } from '../../platform/database/new-id.js';
import { isApproved, type KnownOfApproval, loggedApprovalIn } from './logged-approval.js';

const BEGIN = Date.parse('2026-11-29T12:00:00Z');
const HASH = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
const STAGES = [{ groupId: 'g', group: 'G', threshold: 1 }];
const RULES = { stages: STAGES, commentRequired: false, rejectThreshold: 1, expiresInSeconds: 60 };

type Told = readonly [second: number, action: string, actorId: string, detail?: Record<string, unknown>];
const REQUESTED: Told = [0, 'requested', 'ann', { ...RULES, owner: 'ann', requesters: [] }];

const entryOf = ([second, action, actorId, detail]: Told) => ({
  id: firstIdAt(BEGIN + second * 1000),
  action: `approval.${action}`,
  actorId,
  actorName: `${actorId}@example.org`,
  detail: { hash: HASH, stage: 0, ...detail },
});

function read(...entries: readonly Told[]) {
  const [logged] = loggedApprovalIn(entries.map(entryOf)) ?? [];
  return { voters: logged?.approvals.map(({ person }) => person), hasEnded: logged?.hasEnded };
}

describe('an approval reconstructed from the log', () => {
  it('counts votes until the deadline, which an extension moves', () => {
    expect(read(REQUESTED, [30, 'approved', 'ben']).voters).toEqual(['ben']);
    expect(read(REQUESTED, [90, 'approved', 'ben']).voters).toEqual([]);
    expect(read(REQUESTED, [50, 'extended', 'approvals', RULES], [90, 'approved', 'ben']).voters).toEqual(['ben']);
  });

  it('all votes are shown, whether they count or not', () => {
    const entries = [REQUESTED, [9, 'rejected', 'cy', { comment: 'no' }] as Told, [90, 'approved', 'ben'] as Told];
    const [logged] = loggedApprovalIn(entries.map(entryOf)) ?? [];
    const at = (second: number) => new Date(BEGIN + second * 1000);
    expect(logged?.votes).toEqual([
      { userId: 'cy', userName: 'cy@example.org', decision: 'REJECT', stage: 0, comment: 'no', at: at(9) },
      { userId: 'ben', userName: 'ben@example.org', decision: 'APPROVE', stage: 0, comment: null, at: at(90) },
    ]);
  });

  it('ignores votes of the requester and votes without a required comment', () => {
    const commented: Told = [
      0,
      'requested',
      'ann',
      { ...RULES, owner: 'ann', requesters: ['eve'], commentRequired: true },
    ];
    const ofRequesters: Told[] = ['ann', 'eve'].map((person) => [1, 'approved', person, { comment: 'fine' }]);
    const votes: Told[] = [...ofRequesters, [1, 'approved', 'ben']];
    expect(read(commented, ...votes).voters).toEqual([]);
    expect(read(commented, ...votes, [2, 'approved', 'cy', { comment: 'fine' }]).voters).toEqual(['cy']);
  });

  it('ends when enough people reject it, whatever outcome was logged', () => {
    expect(read(REQUESTED, [1, 'approved', 'ben']).hasEnded).toBe(false);
    expect(
      read(REQUESTED, [1, 'rejected', 'cy'], [2, 'approved', 'ben'], [2, 'decided', 'ben', { to: 'APPROVED' }])
        .hasEnded,
    ).toBe(true);
    expect(read(REQUESTED, [9, 'decided', 'approvals', { to: 'EXPIRED' }]).hasEnded).toBe(true);
  });

  it('includes rejections and extensions whose entries were removed after they were read', () => {
    const about = [REQUESTED, [9, 'approved', 'ben'] as Told].map(entryOf);
    const judged = (known: KnownOfApproval) => loggedApprovalIn(about, known)?.map(isApproved);
    expect(judged({})).toEqual([true]);
    expect(judged({ rejectedBy: ['cy'] })).toEqual([false]);
    expect(judged({ extension: firstIdAt(BEGIN + 5000) })).toEqual([false]);
    expect(judged({ isRefused: true })).toEqual([false]);
  });
});
