import { describe, expect, it } from 'vitest';
import { ROLE_NAMES, SCOPE_NAMES, mayDo, scopesOf } from '../../access/scopes.js';
import { effectiveRights, type PersonNow } from './effective-rights.js';

const admin: PersonNow = { roles: ['admin'], disabled: false };
const viewer: PersonNow = { roles: ['viewer'], disabled: false };
const gone: PersonNow = { roles: ['admin'], disabled: true };

describe('what a credential may do now', () => {
  it('is what it was given, as far as everybody behind it may do that', () => {
    expect(effectiveRights({ people: [admin], limits: [['admin:*']] })).toEqual(new Set(['admin:*']));
    expect(effectiveRights({ people: [viewer], limits: [['admin:*']] })).toEqual(scopesOf(['viewer']));
    expect(effectiveRights({ people: [admin, viewer], limits: [['sign:read', 'sign:digest']] })).toEqual(
      new Set(['sign:read']),
    );
    expect(effectiveRights({ people: [admin], limits: [['sign:read'], ['admin:*'], null] })).toEqual(
      new Set(['sign:read']),
    );
    expect(effectiveRights({ people: [viewer], limits: [['users:write']] })).toEqual(new Set());
  });

  it('is nothing when one of them is disabled, is no person, or nobody is there', () => {
    expect(effectiveRights({ people: [admin, gone], limits: [null] })).toBeUndefined();
    expect(effectiveRights({ people: [null], limits: [['admin:*']] })).toBeUndefined();
    expect(effectiveRights({ people: [], limits: [null] })).toBeUndefined();
  });

  it('exceeds nobody and no limit, whatever the roles and the scope', () => {
    for (const role of ROLE_NAMES)
      for (const scope of SCOPE_NAMES) {
        const person: PersonNow = { roles: [role], disabled: false };
        const rights = effectiveRights({ people: [admin, person], limits: [[scope], null] }) ?? new Set();
        const beyond = SCOPE_NAMES.filter(
          (one) => mayDo(rights, one) && !(mayDo(scopesOf([role]), one) && mayDo(new Set([scope]), one)),
        );
        expect(beyond, `${role} ${scope}`).toEqual([]);
      }
  });
});
