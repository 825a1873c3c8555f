import { expect, it } from 'vitest';
import { ownMember } from './own-member.js';

it('a table has the members that were written into it, and none that every object has', () => {
  const table = { rsa: 1 };
  expect(ownMember(table, 'rsa')).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', ''])
    expect(ownMember<number>(table, name)).toBeUndefined();
});
