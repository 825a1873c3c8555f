import { describe, expect, it } from 'vitest';
import { statedFacts, statementsOfRotations } from './key-statements.js';

const MADE = { id: '2', detail: { fingerprint: 'SHA256:a', custody: 'service', replaces: 'old' } };

describe('the facts stated about a key', () => {
  it('are those of the last statement that names each fact', () => {
    const statements = [
      { id: '1', detail: { fingerprint: 'SHA256:a', custody: 'host', owner: 'ann' } },
      { id: '2', detail: { owner: null } },
      { id: '3', detail: { custody: 'human' } },
    ];
    expect(statedFacts(statements)).toMatchObject({ fingerprint: 'SHA256:a', custody: 'human', owner: null });
    expect(statedFacts([])).toMatchObject({ custody: undefined, owner: null });
  });

  it('leave the owner to the key that a rotation replaced, unless a statement names one', () => {
    const OWNED = { id: '1', detail: { owner: 'ann' } };
    expect(statedFacts([MADE])).toEqual({ fingerprint: 'SHA256:a', custody: 'service', owner: null, heirBy: MADE });
    expect(statedFacts([OWNED, MADE])).toMatchObject({ owner: 'ann', heirBy: undefined });
    const removed = { id: '3', detail: { owner: null } };
    expect(statedFacts([MADE, removed])).toMatchObject({ owner: null, heirBy: undefined });
    expect(statedFacts([OWNED, { ...removed, id: '1b' }, MADE])).toMatchObject({ owner: null, heirBy: MADE });
  });

  it('are also those of entries about the rotation that generated the key', () => {
    const entry = (id: string, action: string, targetId: string, detail: Record<string, unknown>) => ({
      id,
      action: `ssh-rotation.${action}`,
      targetId,
      detail,
    });
    const made = entry('2', 'key-made', 'r1', { keyId: 'new', fingerprint: 'SHA256:a', custody: 'service' });
    const entries = [
      entry('1', 'requested', 'r1', { keyId: 'old' }),
      made,
      entry('3', 'requested', 'r2', { keyId: 'older' }),
    ];
    expect(statementsOfRotations(entries, 'new')).toEqual([MADE]);
    // Tests the rotation of another key, and a key whose rotation nobody requested.
    expect(statementsOfRotations(entries, 'old')).toEqual([]);
    expect(statementsOfRotations([made], 'new')).toEqual([]);
  });
});
