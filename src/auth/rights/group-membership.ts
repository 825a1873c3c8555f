import type { EntityManager } from 'typeorm';
import { mayDo, ROLE_NAMES, scopesOf } from '../../access/scopes.js';
import { isId } from '../../platform/database/new-id.js';

/** VOTE_SCOPE is the scope that a vote requires. */
export const VOTE_SCOPE = 'approvals:approve' as const;
const VOTING_ROLES = ROLE_NAMES.filter((role) => mayDo(scopesOf([role]), VOTE_SCOPE));

/**
 * Returns SQL that is true if a user is a member of a group: by name, or because an enabled identity provider listed the user in a group at the last sign-in.
 * Disabled users, and users whose roles do not include the scope for voting, are not members of any group.
 *
 * @param group, person SQL expressions of type uuid
 * @param unless SQL condition over `m`, the row of approver_group_member; memberships that meet the condition do not count
 */
export function isMember(group: string, person: string, unless = 'false'): string {
  return `EXISTS (SELECT 1 FROM approver_group_member m JOIN user_account u ON u.id = ${person} AND NOT u.disabled
    AND u.roles && ARRAY['${VOTING_ROLES.join(`','`)}']::text[]
    WHERE m.group_id = ${group} AND NOT (${unless}) AND (m.user_id = u.id OR EXISTS (
      SELECT 1 FROM external_identity e JOIN identity_provider p ON p.id = e.provider_id AND p.enabled
      WHERE e.user_id = u.id AND e.provider_id = m.provider_id AND m.sso_group = ANY(e.groups))))`;
}

/** groupsOf returns the IDs of the approver groups of which a person is currently a member. Returns an empty set for an ID that identifies no person. */
export async function groupsOf(tx: EntityManager, person: string): Promise<ReadonlySet<string>> {
  if (!isId(person)) return new Set();
  const groups: { id: string }[] = await tx.query(
    `SELECT g.id FROM approver_group g WHERE ${isMember('g.id', '$1::uuid')}`,
    [person],
  );
  return new Set(groups.map(({ id }) => id));
}
