import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';

/** Returns SQL that selects the IDs of all possible members of a group, using indexes. Each ID must still be checked with `isMember`. */
export function possibleMembers(group: string): string {
  return `SELECT m.user_id FROM approver_group_member m WHERE m.group_id = ${group} AND m.user_id IS NOT NULL
    UNION SELECT e.user_id FROM approver_group_member m JOIN external_identity e ON e.groups @> ARRAY[m.sso_group]
      WHERE m.group_id = ${group} AND e.provider_id = m.provider_id`;
}

/** Condition for the `unless` parameter of `isMember`: a requester of the approval `a` added the member after the request. */
export const ADDED_BY_REQUESTER =
  'array_append(m.added_behind, m.added_by) && array_append(a.requesters, a.owner_id) AND m.added_at > a.created_at';

/**
 * Returns the number of group members who can approve: the named members who are not disabled. Returns Infinity if the group includes members from an identity
 * provider, because such members are known only when they sign in.
 */
export async function approversIn(tx: EntityManager, groupId: string): Promise<number> {
  const [row]: { people: number; others: number }[] = await tx.query(
    `SELECT count(*) FILTER (WHERE u.id IS NOT NULL AND NOT u.disabled)::int AS people,
       count(*) FILTER (WHERE m.provider_id IS NOT NULL)::int AS others
     FROM approver_group_member m LEFT JOIN user_account u ON u.id = m.user_id WHERE m.group_id = $1`,
    [groupId],
  );
  return row === undefined || row.others === 0 ? (row?.people ?? 0) : Infinity;
}

/**
 * Rejects a change that leaves a group with fewer approvers than a policy requires, because requests could no longer be approved. A change that does not reduce
 * the number of approvers is always accepted.
 */
export async function assertStillEnough(tx: EntityManager, groupId: string, before: number): Promise<void> {
  const count = await approversIn(tx, groupId);
  if (count >= before) return;
  const [policy]: { name: string; threshold: number }[] = await tx.query(
    `SELECT p.name, (s->>'threshold')::int AS threshold FROM approval_policy p, jsonb_array_elements(p.stages) s
     WHERE s->>'groupId' = $1 AND (s->>'threshold')::int > $2 ORDER BY threshold DESC LIMIT 1`,
    [groupId, count],
  );
  if (policy === undefined) return;
  const detail = `the policy "${policy.name}" requires ${policy.threshold} members, but only ${count} would remain; change the policy first`;
  throw new Problem('refused', 'approver-group.too-small', `/members: ${detail}.`, {
    errors: [{ pointer: '/members', detail }],
  });
}
