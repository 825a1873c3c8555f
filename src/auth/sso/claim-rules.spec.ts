import { describe, expect, it } from 'vitest';
import { rolesOf } from './claim-rules.js';

const gives = (claims: Record<string, unknown>, claim: string, value: string): boolean =>
  rolesOf(claims, [{ claim, op: 'equals', value, roles: ['viewer'] }], null) !== undefined;

describe('a rule looks for its claim', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['by its name', { groups: 'a' }, 'groups'],
    ['in a list', { groups: ['b', 'a'] }, 'groups'],
    ['behind a path', { realm_access: { roles: ['a'] } }, 'realm_access.roles'],
    [
      'behind names with dots',
      { resource_access: { 'my.client': { roles: ['a'] } } },
      'resource_access.my.client.roles',
    ],
    ['in each of a list', { groups: [{ name: 'b' }, 'x', { name: 'a' }] }, 'groups.name'],
    ['of a name with dots', { 'https://x.example/groups': ['a'] }, 'https://x.example/groups'],
  ])('%s', (_, claims, claim) => expect(gives(claims, claim, 'a')).toBe(true));

  it('that is a truth value or a number, by its text', () => {
    expect(gives({ email_verified: true }, 'email_verified', 'true')).toBe(true);
    expect(gives({ email_verified: 'true' }, 'email_verified', 'true')).toBe(true);
    expect(gives({ level: 3 }, 'level', '3')).toBe(true);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['another name', { group: 'a' }, 'groups'],
    ['a part of a name', { 'realm_access.roles': 'b', realm_access: { roles: 'a' } }, 'realm_access.roles'],
    ['objects', { groups: { a: 'a' } }, 'groups'],
    ['what every object has', {}, 'constructor.name'],
    ['an empty path', { '': 'a' }, '.'],
  ])('and not in %s', (_, claims, claim) => expect(gives(claims, claim, 'a')).toBe(false));
});
