/**
 * SQL that is true when a person is a member of a group now: by name, or because an identity provider that is switched on said so
 * at their last sign-in. Disabled people are members of nothing.
 *
 * @param group, person SQL expressions of the type uuid
 * @param unless SQL condition over `m`, the row of approver_group_member: such memberships do not count
 */
export function isMember(group: string, person: string, unless = 'false'): string {
  return `EXISTS (SELECT 1 FROM approver_group_member m JOIN user_account u ON u.id = ${person} AND NOT u.disabled
    WHERE m.group_id = ${group} AND NOT (${unless}) AND (m.user_id = u.id OR EXISTS (
      SELECT 1 FROM external_identity e JOIN identity_provider p ON p.id = e.provider_id AND p.enabled
      WHERE e.user_id = u.id AND e.provider_id = m.provider_id AND m.sso_group = ANY(e.groups))))`;
}

/** For `unless`, over `a`, the row of the approval: the requester cannot bring approvers in once the request is made. */
export const ADDED_BY_REQUESTER =
  '(m.added_by = a.owner_id OR m.added_by = ANY(a.requesters)) AND m.added_at > a.created_at';
