import type { DataSource } from 'typeorm';
import { expect, it } from 'vitest';
import { Problem } from '../errors/problem.js';
import { GroupCommit } from './group-commit.js';

const transaction = (work: (tx: object) => Promise<unknown>) => work({});
const db = { transaction } as unknown as DataSource;

it('one refused item costs the others of its group few transactions', async () => {
  let transactions = 0;
  const commits = new GroupCommit<number, number>(db, (_tx, items) => {
    transactions += 1;
    if (items.includes(77)) throw new Problem('conflict', 'key-policy.quota', 'The key has reached its daily limit.');
    return Promise.resolve(items.map((item) => item * 2));
  });
  const all = Array.from({ length: 128 }, (_, i) => i);
  const results = await Promise.allSettled(all.map((item) => commits.add(item)));
  expect(results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([77]);
  expect(results[78]).toEqual({ status: 'fulfilled', value: 156 });
  // The whole group, and two halves at each of the seven levels below.
  expect(transactions).toBeLessThanOrEqual(15);
});

it('a caller with one item is in the next group, however many items another caller has', async () => {
  const groups: string[][] = [];
  const commits = new GroupCommit<string, string>(
    db,
    async (_tx, items) => {
      groups.push(items);
      return Promise.resolve(items);
    },
    { max: 4, callerOf: (item) => item.charAt(0) },
  );
  await Promise.all([...Array.from({ length: 12 }, (_, i) => `a${i}`), 'b0'].map((item) => commits.add(item)));
  expect(groups.findIndex((group) => group.includes('b0'))).toBe(1);
});
