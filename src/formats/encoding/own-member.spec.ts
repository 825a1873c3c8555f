import { expect, it } from 'vitest';
import { ownMember } from './own-member.js';

it('a table contains only its own members, not those inherited by every object', () => {
  const table = { rsa: 1 };
  expect(ownMember(table, 'rsa')).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', ''])
    expect(ownMember<number>(table, name)).toBeUndefined();
});
