import { describe, expect, it } from 'vitest';
import { firstIdAt } from '../../platform/database/new-id.js';
import { loggedApprovalIn } from './logged-approval.js';

const BEGIN = Date.parse('2026-11-29T12:00:00Z');
const HASH = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
const STAGES = [{ groupId: 'g', group: 'G', threshold: 1 }];
const RULES = { stages: STAGES, commentRequired: false, rejectThreshold: 1, expiresInSeconds: 60 };

type Told = readonly [second: number, action: string, actorId: string, detail?: Record<string, unknown>];
const REQUESTED: Told = [0, 'requested', 'ann', { ...RULES, owner: 'ann', requesters: [] }];

function read(...entries: readonly Told[]) {
  const about = entries.map(([second, action, actorId, detail]) => ({
    id: firstIdAt(BEGIN + second * 1000),
    action: `approval.${action}`,
    actorId,
    detail: { hash: HASH, stage: 0, ...detail },
  }));
  const [logged] = loggedApprovalIn(about, false) ?? [];
  return { voters: logged?.approvals.map(({ person }) => person), hasEnded: logged?.hasEnded };
}

describe('by the log', () => {
  it('a vote counts until the time to decide ends, and an extension gives new time', () => {
    expect(read(REQUESTED, [30, 'approved', 'ben']).voters).toEqual(['ben']);
    expect(read(REQUESTED, [90, 'approved', 'ben']).voters).toEqual([]);
    expect(read(REQUESTED, [50, 'extended', 'approvals', RULES], [90, 'approved', 'ben']).voters).toEqual(['ben']);
  });

  it('neither the requester votes, nor anybody without the comment that is required', () => {
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

  it('as many rejections as are enough end it, whatever was decided', () => {
    expect(read(REQUESTED, [1, 'approved', 'ben']).hasEnded).toBe(false);
    expect(
      read(REQUESTED, [1, 'rejected', 'cy'], [2, 'approved', 'ben'], [2, 'decided', 'ben', { to: 'APPROVED' }])
        .hasEnded,
    ).toBe(true);
    expect(read(REQUESTED, [9, 'decided', 'approvals', { to: 'EXPIRED' }]).hasEnded).toBe(true);
  });
});
