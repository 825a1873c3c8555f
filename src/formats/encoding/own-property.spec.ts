import { expect, it } from 'vitest';
import { ownProperty } from './own-property.js';

it('a table contains only its own members, not those inherited by every object', () => {
  const table = { rsa: 1 };
  expect(ownProperty(table, 'rsa')).toBe(1);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', ''])
    expect(ownProperty<number>(table, name)).toBeUndefined();
});
