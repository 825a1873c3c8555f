import type { EntityManager } from 'typeorm';
import type { Membership } from '../../audit/history/rights-history.js';
import { IdentityProvider } from '../../auth/model/identity-provider.entity.js';
import { User } from '../../auth/model/user.entity.js';
import { ExternalIdentity } from '../../auth/model/external-identity.entity.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { ApproverGroupMember } from './approver-group.entity.js';

/** The facts that determine who may vote on an approval, according to the audit log. */
export interface VotersOf {
  readonly groupId: string;
  /** IDs of the requesters. Members that a requester added to the group after `since` do not count. */
  readonly requesters: readonly string[];
  readonly since: Date;
  /** `RightsHistory.withdrawn`. Groups of removed or disabled identity providers have no voters. */
  readonly withdrawn: ReadonlyMap<string, number>;
  /** Time at which each named member of the group was added, in milliseconds. */
  readonly added: Readonly<Record<string, number>>;
}

/** Maximum time between the creation of a member's row and the creation of its audit entry. */
const MAX_ENTRY_DELAY_MS = 10_000;

interface MemberRows {
  readonly member: JsonRow;
  readonly person: JsonRow;
  readonly identity: JsonRow | null;
  readonly provider: JsonRow | null;
}

/**
 * Returns how a user belongs to the group whose members may vote: like `isMember`, but evaluated in the service on rows that match their seals. Returns
 * undefined if the user may not vote. A user who is both a named member and listed by a provider is a member through the provider. Only this function decides
 * whether a vote counts; SQL predicates only select the approvals to list and the people to notify.
 */
export async function votesAs(tx: EntityManager, personId: string, voters: VotersOf): Promise<Membership | undefined> {
  const rows: MemberRows[] = await tx.query(
    `SELECT to_jsonb(m) AS member, to_jsonb(u) AS person, to_jsonb(e) AS identity, to_jsonb(p) AS provider
     FROM approver_group_member m JOIN user_account u ON u.id = $2
     LEFT JOIN external_identity e ON e.user_id = u.id AND e.provider_id = m.provider_id AND m.sso_group = ANY(e.groups)
     LEFT JOIN identity_provider p ON p.id = e.provider_id
     WHERE m.group_id = $1 AND (m.user_id = u.id OR e.user_id IS NOT NULL)`,
    [voters.groupId, personId],
  );
  const ways = rows.map((row) => wayOf(tx, personId, voters, row));
  return ways.find((way) => way !== undefined && way !== 'named') ?? ways.find((way) => way === 'named');
}

function wayOf(
  tx: EntityManager,
  personId: string,
  { groupId, requesters, since, withdrawn, added }: VotersOf,
  row: MemberRows,
): Membership | undefined {
  const seals = sealsOf(tx);
  const member = seals.opened(ApproverGroupMember, row.member);
  const person = seals.opened(User, row.person);
  if (member === null || person === null || person.id !== personId || person.disabled) return undefined;
  const isAddedByRequester = [member.addedBy, ...(member.addedBehind ?? [])].some((id) => requesters.includes(id));
  if (member.groupId !== groupId || (isAddedByRequester && member.addedAt > since)) return undefined;
  if (member.userId !== null) {
    // A member who was removed and added again has a newer row. A restored earlier row would have the `addedBy` of the earlier addition.
    const isCurrent = member.addedAt.getTime() >= (added[person.id] ?? 0) - MAX_ENTRY_DELAY_MS;
    return member.userId === person.id && isCurrent ? 'named' : undefined;
  }
  return withdrawn.has(member.providerId ?? '') ? undefined : broughtBy(tx, member, row, person);
}

/** Returns the member's identity provider group if the provider is enabled and listed the group for the person at the person's last sign-in. */
function broughtBy(
  tx: EntityManager,
  member: ApproverGroupMember,
  row: MemberRows,
  person: User,
): Membership | undefined {
  const seals = sealsOf(tx);
  const identity = seals.opened(ExternalIdentity, row.identity);
  const provider = seals.opened(IdentityProvider, row.provider);
  const group = member.ssoGroup ?? '';
  if (identity === null || provider === null || !provider.enabled) return undefined;
  const isOf = identity.userId === person.id && identity.providerId === provider.id;
  const isNamed = isOf && member.providerId === provider.id && identity.groups.includes(group);
  return isNamed ? { provider: provider.name, group } : undefined;
}
