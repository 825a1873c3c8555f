import { describe, expect, it } from 'vitest';
import type { Claims } from './claim-rules.js';
import { assertNothingLeftOut } from './left-out-claims.js';

const SAML_GROUPS = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups';
const LINK = 'http://schemas.microsoft.com/claims/groups.link';

function judge(claims: Claims, claim: string): () => void {
  return () => assertNothingLeftOut(claims, [{ claim, op: 'equals', value: 'x', roles: ['viewer'] }]);
}

describe('a claim that is elsewhere', () => {
  it.each<[Claims, string]>([
    [{ _claim_names: { groups: 'src1' } }, 'groups'],
    [{ hasgroups: true }, 'groups'],
    [{ hasgroups: 'true' }, 'groups'],
    [{ [LINK]: 'https://graph.example/x' }, SAML_GROUPS],
  ])('is missed by a rule that needs it: %j', (claims, claim) => {
    expect(judge(claims, claim)).toThrow(`left "${claim}" out`);
  });

  it.each<[Claims, string]>([
    [{ _claim_names: { groups: 'src1' } }, 'email'],
    [{ _claim_names: { groups: 'src1' }, groups: ['a'] }, 'groups'],
    [{ _claim_names: 'groups' }, 'groups'],
    [{ hasgroups: false }, 'groups'],
    [{}, 'groups'],
  ])('is missed by no other: %j', (claims, claim) => {
    expect(judge(claims, claim)).not.toThrow();
  });
});
