import { expect, it } from 'vitest';
import { Problem } from '../../platform/errors/problem.js';
import { SpentKeys } from './key-usage.js';

const spent = new Problem('conflict', 'key-policy.quota', 'The key has reached its daily limit.');

it('a key that has reached its limit is refused from memory until its limits are changed', () => {
  const keys = new SpentKeys();
  keys.assertNotSpent('key', 1);
  keys.note('key', 1, spent);
  expect(() => keys.assertNotSpent('key', 1)).toThrow(spent);
  keys.assertNotSpent('key', 2);
  keys.assertNotSpent('another key', 1);
});

it('other refusals are not remembered', () => {
  const keys = new SpentKeys();
  keys.note('key', 1, new Problem('conflict', 'signing-key.inactive', 'The key is disabled.'));
  keys.note('key', 1, new Error('connection lost'));
  keys.assertNotSpent('key', 1);
});
