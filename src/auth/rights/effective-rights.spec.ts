import { describe, expect, it } from 'vitest';
import { ROLE_NAMES, SCOPE_NAMES, mayDo, scopesOf } from '../../access/scopes.js';
import { effectiveRights, type PersonNow } from './effective-rights.js';

const admin: PersonNow = { roles: ['admin'], disabled: false };
const viewer: PersonNow = { roles: ['viewer'], disabled: false };
const gone: PersonNow = { roles: ['admin'], disabled: true };

describe('effective rights of a credential', () => {
  it('are its granted rights, limited to those of everybody behind it', () => {
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

  it('are empty if somebody behind it is disabled, is not a person, or does not exist', () => {
    expect(effectiveRights({ people: [admin, gone], limits: [null] })).toBeUndefined();
    expect(effectiveRights({ people: [null], limits: [['admin:*']] })).toBeUndefined();
    expect(effectiveRights({ people: [], limits: [null] })).toBeUndefined();
  });

  it('never exceed those of anybody behind it or any limit, whatever the roles and scope', () => {
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
