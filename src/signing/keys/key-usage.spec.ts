import { expect, it } from 'vitest';
import { Problem } from '../../platform/errors/problem.js';
import { SpentKeys } from './key-usage.js';

const spent = new Problem('conflict', 'key-policy.quota', 'The key has reached its daily limit.');
const isNew = () => Promise.resolve(false);
const isRepeated = () => Promise.resolve(true);

it('a key that has reached its limit is refused from memory until its limits are changed', async () => {
  const keys = new SpentKeys();
  await keys.assertNotSpent('key', 1, isNew);
  keys.note('key', 1, spent);
  await expect(keys.assertNotSpent('key', 1, isNew)).rejects.toThrow(spent);
  await keys.assertNotSpent('key', 2, isNew);
  await keys.assertNotSpent('another key', 1, isNew);
});

it('a repetition of an accepted request is not refused', async () => {
  const keys = new SpentKeys();
  keys.note('key', 1, spent);
  await keys.assertNotSpent('key', 1, isRepeated);
});

it('other refusals are not remembered', async () => {
  const keys = new SpentKeys();
  keys.note('key', 1, new Problem('conflict', 'signing-key.inactive', 'The key is disabled.'));
  keys.note('key', 1, new Error('connection lost'));
  await keys.assertNotSpent('key', 1, isNew);
});
