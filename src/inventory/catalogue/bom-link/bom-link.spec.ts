import { expect, it } from 'vitest';
import { keptRefs } from './bom-link.js';

it('BOM links keep bom-refs of up to 1,000 characters, and up to 32 million characters per document', () => {
  const ref = 'r'.repeat(1000);
  expect(
    keptRefs([
      [ref, 'a'],
      [`${ref}r`, 'b'],
      ['c', 'c'],
    ]).map(([, id]) => id),
  ).toEqual(['a', 'c']);
  const many = Array.from({ length: 40_000 }, (_, i): [string, string] => [ref, String(i)]);
  expect(keptRefs(many)).toHaveLength(Math.floor((32 * 1024 * 1024) / 1000));
});
