import { describe, expect, it } from 'vitest';
import { factsOf, isAsLogged } from './logged-policy.js';

const USER = { kind: 'user', id: 'u1', name: 'ada@example.org' } as const;
const POLICY = {
  name: 'Yearly',
  maxAgeDays: 365,
  keyOwner: null,
  mostPerHour: 10,
  settings: { overlapSeconds: 60 } as never,
  madeBy: { ...USER, behind: [], requesters: ['u1'], credentials: [] },
  ownerId: 'u1',
};
const ENTRY = {
  action: 'ssh-rotation-policy.created',
  actorKind: 'user',
  actorId: 'u1',
  detail: factsOf(POLICY) as Record<string, unknown>,
} as const;

describe('a rotation policy', () => {
  it('matches its newest log entry', () => {
    expect(isAsLogged(POLICY, ENTRY)).toBe(true);
    const { madeBy: _author, ownerId: _owner, ...order } = ENTRY.detail;
    expect(isAsLogged(POLICY, { ...ENTRY, detail: order })).toBe(true);
  });

  it.each([
    [{ maxAgeDays: 1 }],
    [{ keyOwner: 'ada' }],
    [{ settings: { overlapSeconds: 1 } as never }],
    [{ madeBy: { ...POLICY.madeBy, id: 'u2' } }],
    [{ madeBy: { ...POLICY.madeBy, requesters: [] } }],
    [{ ownerId: 'u2' }],
  ])('does not match the log with %j', (change) => {
    expect(isAsLogged({ ...POLICY, ...change }, ENTRY)).toBe(false);
  });

  it('does not match the log without an entry, or after its removal', () => {
    expect(isAsLogged(POLICY, undefined)).toBe(false);
    expect(isAsLogged(POLICY, { ...ENTRY, action: 'ssh-rotation-policy.removed' })).toBe(false);
  });
});
