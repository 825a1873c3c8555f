import { expect, it } from 'vitest';
import type { Range } from '../../verifier/merkle-tree.js';
import { acceptedDamage, addLeaf, withoutLeaves } from './accepted-damage.js';

it('joins damaged leaves that are next to each other', () => {
  const ranges: Range[] = [];
  for (const index of [3, 4, 5, 9]) addLeaf(ranges, index);
  expect(ranges).toEqual([
    { from: 3, to: 6 },
    { from: 9, to: 10 },
  ]);
});

it('keeps the damage that an acceptance does not name', () => {
  const damaged = [
    { from: 3, to: 8 },
    { from: 20, to: 21 },
  ];
  expect(withoutLeaves(damaged, acceptedDamage({ damaged: [[4, 6]] }))).toEqual([
    { from: 3, to: 4 },
    { from: 6, to: 8 },
    { from: 20, to: 21 },
  ]);
  expect(withoutLeaves(damaged, acceptedDamage({ damaged: [] }))).toEqual(damaged);
});

it('covers all earlier damage with an acceptance of a version that did not name leaves', () => {
  expect(withoutLeaves([{ from: 3, to: 8 }], acceptedDamage({ code: 'log.forked' }))).toEqual([]);
});
