import { expect, it } from 'vitest';
import { maxAgeOf } from './may-be-older.js';

it.each([
  [undefined, Infinity],
  ['', Infinity],
  ['max-stale=20', Infinity],
  ['s-max-age=5', Infinity],
  ['max-age=', Infinity],
  ['max-age=-1', Infinity],
  ['max-age=7', 7],
  ['Max-Age="7"', 7],
  ['no-transform, max-age=0', 0],
  ['max-age=7,no-cache', 0],
  ['No-Cache', 0],
  ['no-store', 0],
])('Cache-Control %o accepts responses up to this age: %d s', (header, seconds) => {
  expect(maxAgeOf(header)).toBe(seconds);
});
