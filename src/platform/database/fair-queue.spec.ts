import { expect, it } from 'vitest';
import { FairQueue } from './fair-queue.js';

function drained(queue: FairQueue<string>, count = Infinity): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const next = queue.shift();
    if (next === undefined) break;
    taken.push(next);
  }
  return taken;
}

it('a caller with one entry is served after one entry of each other caller, however many they have', () => {
  const queue = new FairQueue<string>();
  for (let i = 1; i <= 24; i += 1) queue.push('a', `a${i}`);
  expect(drained(queue, 2)).toEqual(['a1', 'a2']);
  queue.push('b', 'b1');
  queue.push('c', 'c1');
  queue.push('b', 'b2');
  expect(drained(queue, 6)).toEqual(['a3', 'b1', 'c1', 'a4', 'b2', 'a5']);
});

it('entries of one caller keep their order, and a returning caller is queued at the end', () => {
  const queue = new FairQueue<string>();
  queue.push('a', 'a1');
  queue.push('b', 'b1');
  queue.push('b', 'b2');
  expect(drained(queue, 1)).toEqual(['a1']);
  queue.push('a', 'a2');
  expect(drained(queue)).toEqual(['b1', 'a2', 'b2']);
  expect(queue.shift()).toBeUndefined();
});

it('callers that cannot be served are skipped and keep their position', () => {
  const queue = new FairQueue<string>();
  queue.push('a', 'a1');
  queue.push('b', 'b1');
  queue.push('c', 'c1');
  expect(queue.shift((caller) => caller !== 'a')).toBe('b1');
  expect(queue.shift((caller) => caller === 'd')).toBeUndefined();
  expect(drained(queue)).toEqual(['a1', 'c1']);
});

it('all waiting entries are returned', () => {
  const queue = new FairQueue<string>();
  for (const entry of ['a1', 'b1', 'a2']) queue.push(entry.slice(0, 1), entry);
  expect(queue.clear().toSorted()).toEqual(['a1', 'a2', 'b1']);
  expect(queue.shift()).toBeUndefined();
});
