import { describe, expect, it } from 'vitest';
import { acceptedRollbackIn, coveringRollback } from './accepted-rollback.js';

const root = (byte: number) => Buffer.alloc(32, byte);
const leaf = (before: string, after: string, signed: number, accepted: number) => ({
  action: 'log.rolled-back',
  at: '2026-11-26T12:00:00.000000Z',
  detail: {
    origin: { before, after },
    signed: { size: signed, root: root(1).toString('base64') },
    accepted: { size: accepted, root: root(2).toString('base64') },
  },
});
const rollback = (before: string, after: string, signed = 100, accepted = 60) => {
  const found = acceptedRollbackIn(leaf(before, after, signed, accepted));
  if (found === undefined) throw new Error('no rollback was read');
  return found;
};
const older = (size: number, byte = 1, origin = 'a/log') => ({ origin, size, root: root(byte) });

describe('a log leaf', () => {
  it('is read if it records an accepted rollback completely, and ignored otherwise', () => {
    expect(rollback('a/log', 'a/log/2')).toMatchObject({ before: 'a/log', after: 'a/log/2', accepted: { size: 60 } });
    const { action, detail, ...rest } = leaf('a/log', 'a/log/2', 100, 60);
    for (const other of [
      {},
      { ...rest, action },
      { ...rest, detail },
      { ...rest, action, detail: { ...detail, origin: null } },
      { ...rest, action, detail: { ...detail, accepted: { size: '60' } } },
    ])
      expect(acceptedRollbackIn(other)).toBeUndefined();
  });
});

describe('an older checkpoint', () => {
  const one = [rollback('a/log', 'a/log/2')];

  it('is explained if it is ahead of an accepted restore, with the number of lost leaves', () => {
    expect(coveringRollback(one, older(100), 'a/log/2', false)).toContain(
      '40 of the leaves covered by your checkpoint are lost',
    );
    expect(coveringRollback(one, older(80, 9), 'a/log/2', false)).toContain('20 of the leaves');
    expect(coveringRollback(one, older(60, 2), 'a/log/2', false)).toContain('0 of the leaves');
  });

  it('is not explained if it exceeds what the HSM had signed, or has a different root', () => {
    expect(coveringRollback(one, older(101), 'a/log/2', false)).toBeUndefined();
    expect(coveringRollback(one, older(100, 7), 'a/log/2', false)).toBeUndefined();
  });

  it('is not explained if the common part differs', () => {
    expect(coveringRollback(one, older(50), 'a/log/2', true)).toBeUndefined();
  });

  it('is not explained without a rollback, or by one of another log', () => {
    expect(coveringRollback(one, older(100, 1, 'b/log'), 'a/log/2', false)).toBeUndefined();
    expect(coveringRollback(one, older(100), 'a/log/3', false)).toBeUndefined();
    expect(coveringRollback([], older(100), 'a/log/2', false)).toBeUndefined();
  });

  it('may predate several restores', () => {
    const two = [...one, rollback('a/log/2', 'a/log/3', 90, 70)];
    expect(coveringRollback(two, older(100), 'a/log/3', false)).toContain('continues as a/log/3');
    const apart = [...one, rollback('a/log/9', 'a/log/3', 90, 70)];
    expect(coveringRollback(apart, older(100), 'a/log/3', false)).toBeUndefined();
  });
});
