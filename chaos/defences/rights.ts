import type { Mutation } from './mutation.js';

const BOUNDARIES = 'test/auth/credential-boundaries.spec.ts';
const RIGHTS_END = 'test/auth/rights-that-end.spec.ts';
const STANDING = 'test/auth/standing-orders.spec.ts';
const WHO_COUNTS = 'test/approvals/who-counts.spec.ts';
const USERS = 'test/auth/users.spec.ts';
const EFFECTIVE = 'src/auth/rights/effective-rights.ts';
const INVITATIONS = 'src/auth/users/invitation-rights.ts';

/** Rights that outlive their reason: findings 3, 4, 5, 14, 15 and 19. */
export const RIGHTS: readonly Mutation[] = [
  {
    finding: 3,
    defence: 'a credential may do what each of the people behind it may do now',
    file: EFFECTIVE,
    text: '    rights = common(rights, scopesOf(person.roles));',
    instead: '',
    spec: 'src/auth/rights/effective-rights.spec.ts',
  },
  {
    finding: 3,
    defence: 'a credential is void when one of the people behind it is disabled',
    file: EFFECTIVE,
    text: 'if (person === null || person.disabled) return undefined;',
    instead: 'if (person === null) return undefined;',
    spec: 'src/auth/rights/effective-rights.spec.ts',
  },
  {
    finding: 3,
    defence: 'the owner of a client is one of the people behind its tokens',
    file: 'src/auth/sessions/session-callers.ts',
    text: 'people: user === undefined ? people : [user, ...people], limits',
    instead: `people: [user ?? { roles: ['admin'], disabled: false }], limits`,
    spec: RIGHTS_END,
    test: 'token of an OAuth client',
  },
  {
    finding: 4,
    defence: 'a device is let in only by whoever has just shown who they are',
    file: 'src/auth/oauth/device-flow.controller.ts',
    text: `  @Fresh()
  async approveDevice`,
    instead: '  async approveDevice',
    spec: BOUNDARIES,
    test: 'cannot be approved in a browser whose person authenticated long ago',
  },
  {
    finding: 4,
    defence: 'the session of a client is as fresh as its last step-up',
    file: 'src/auth/callers/access.guard.ts',
    text: 'const since = session?.clientId === null ? session.authenticatedAt : (session?.steppedUpAt ?? null);',
    instead: 'const since = session?.authenticatedAt ?? null;',
    spec: 'src/auth/callers/access.guard.spec.ts',
  },
  {
    finding: 4,
    defence: 'the session of a device is as old as the sign-in of whoever let it in',
    file: 'src/auth/oauth/token-endpoint.service.ts',
    text: 'const came = { ...(external === null ? {} : { external }), authenticatedAt };',
    instead: 'const came = external === null ? {} : { external };',
    spec: BOUNDARIES,
    test: 'is as old as the sign-in of whoever allowed it',
  },
  {
    finding: 5,
    defence: 'whoever was ever shown the secret of a credential counts as its requester',
    file: 'src/auth/rights/secret-disclosures.ts',
    text: 'return [...new Set([caller.ownerId, ...(await this.peopleKnowing(tx, askers))])];',
    instead: 'return [caller.ownerId];',
    spec: WHO_COUNTS,
    test: 'of an API key, of a key that it made, and of a client',
  },
  {
    finding: 5,
    defence: 'none of the requesters votes',
    file: 'src/approvals/decisions/voting.service.ts',
    text: 'if (ownerId !== approval.ownerId && !approval.requesters.includes(ownerId)) return;',
    instead: 'if (ownerId !== approval.ownerId) return;',
    spec: WHO_COUNTS,
    test: 'of an API key, of a key that it made, and of a client',
  },
  {
    finding: 5,
    defence: 'a vote of a requester that is in the log is not counted',
    file: 'src/approvals/decisions/logged-approval.ts',
    text: 'approvals.has(person) || excluded.has(person) ||',
    instead: 'approvals.has(person) ||',
    spec: 'src/approvals/decisions/logged-approval.spec.ts',
    test: 'neither the requester votes',
  },
  {
    finding: 5,
    defence: 'evidence does not count votes of requesters either',
    file: 'src/verifier/evidence-approval.ts',
    text: 'filter((id) => !never.has(id) && !counted.has(id))',
    instead: 'filter((id) => id !== requester.person && !counted.has(id))',
    spec: 'src/verifier/evidence-approval.spec.ts',
  },
  {
    finding: 5,
    defence: 'whoever was shown the present secret is one of the people behind a client',
    file: EFFECTIVE,
    text: 'return issuedTo === null ? [its] : [its, personIn(seals, issuedTo, receiver)];',
    instead: 'return [its];',
    spec: RIGHTS_END,
    test: 'OAuth client whose secret somebody else replaced',
  },
  {
    finding: 14,
    defence: 'the right of the inviter is looked at again when an invitation is accepted',
    file: INVITATIONS,
    text: '    if (!(await this.rights.holdsUntilCommit(tx, row.inviterId, wanted(row.roles)))) return undefined;',
    instead: '',
    spec: USERS,
    test: 'is looked at again when it is taken',
  },
  {
    finding: 14,
    defence: 'open invitations are taken back with the right to give them',
    file: INVITATIONS,
    text: 'if (inviter !== null && (await this.rights.holds(inviter, wanted(roles), tx))) continue;',
    instead: 'continue;',
    spec: USERS,
    test: 'ends with the right of whoever gave it',
  },
  {
    finding: 15,
    defence: 'a refresh token is valid only for the client that it was issued to',
    file: 'src/auth/sessions/refresh-tokens.ts',
    text: 'if (shown !== undefined && shown.clientId !== clientId) {',
    instead: 'if (shown !== undefined && false) {',
    spec: BOUNDARIES,
    test: 'a refresh token is valid only at its own endpoint',
  },
  {
    finding: 19,
    defence: 'a schedule starts only while whoever made it may order it',
    file: 'src/schedules/schedule-starter.ts',
    text: 'if (await this.rights.holds(run.madeBy, wanted, tx)) return target.start?.(tx, run);',
    instead: 'return target.start?.(tx, run);',
    spec: STANDING,
    test: 'a schedule is paused',
  },
  {
    finding: 19,
    defence: 'a rotation policy orders only while whoever wrote it may',
    file: 'src/ssh-keys/policies/rotation-policy-rights.ts',
    text: `if (await this.rights.holds(madeBy.id, ['keys:rotate'])) return true;`,
    instead: 'return true;',
    spec: STANDING,
    test: 'a rotation policy is paused',
  },
];
