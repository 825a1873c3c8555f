import { assertSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { type EntityManager, In, Not } from 'typeorm';
import { ApproverGroupMember } from './approver-group.entity.js';
import type { Caller } from '../../access/caller.js';
import { peopleBehind } from '../../auth/rights/secret-disclosures.js';
import { Problem } from '../../platform/errors/problem.js';

export interface SsoGroup {
  /** Name of the identity provider. */
  readonly provider: string;
  /** Name of the group at the identity provider. */
  readonly group: string;
}

export interface GroupMemberList {
  /** IDs of users. */
  readonly members: readonly string[];
  readonly ssoGroups: readonly SsoGroup[];
}

type MemberRow = Pick<ApproverGroupMember, 'member' | 'userId' | 'providerId' | 'ssoGroup'>;

/** GroupMembers reads and writes the member rows of groups. The row of a member who remains is kept, including `addedBy` and `addedAt`. */
@Injectable()
export class GroupMembers {
  async set(tx: EntityManager, caller: Caller, groupId: string, wanted: GroupMemberList): Promise<void> {
    const rows = [...(await this.people(tx, wanted.members)), ...(await this.ssoGroups(tx, wanted.ssoGroups))];
    const names = rows.map(({ member }) => member);
    await tx.delete(ApproverGroupMember, { groupId, member: Not(In(names)) });
    const kept = await tx.findBy(ApproverGroupMember, { groupId });
    for (const row of kept) assertSealed(tx, ApproverGroupMember, row);
    const known = new Set(kept.map(({ member }) => member));
    const added = new Map(rows.filter(({ member }) => !known.has(member)).map((row) => [row.member, row]));
    const others = (await peopleBehind(tx, caller)).filter((id) => id !== caller.ownerId).sort();
    const addedBehind = others.length === 0 ? null : others;
    const by = { groupId, addedBy: caller.ownerId, addedBehind, addedAt: new Date() };
    await insertSealed(tx, ApproverGroupMember, ...[...added.values()].map((row) => ({ ...row, ...by })));
  }

  async clear(tx: EntityManager, groupId: string): Promise<void> {
    await tx.query(`DELETE FROM approver_group_member WHERE group_id = $1`, [groupId]);
  }

  /** Returns the members of each group, in the order of the IDs. */
  async of(tx: EntityManager, groupIds: readonly string[]): Promise<GroupMemberList[]> {
    const rows: { group_id: string; user_id: string | null; provider: string | null; sso_group: string }[] =
      await tx.query(
        `SELECT m.group_id, m.user_id, p.name AS provider, m.sso_group FROM approver_group_member m
         LEFT JOIN identity_provider p ON p.id = m.provider_id WHERE m.group_id = ANY($1::uuid[]) ORDER BY m.member`,
        [groupIds],
      );
    const byGroup = Map.groupBy(rows, ({ group_id }) => group_id);
    return groupIds.map((id) => ({
      members: (byGroup.get(id) ?? []).flatMap(({ user_id }) => (user_id === null ? [] : [user_id])),
      ssoGroups: (byGroup.get(id) ?? []).flatMap(({ provider, sso_group: group }) =>
        provider === null ? [] : [{ provider, group }],
      ),
    }));
  }

  private async people(tx: EntityManager, ids: readonly string[]): Promise<MemberRow[]> {
    const known: { id: string }[] = await tx.query(`SELECT id FROM user_account WHERE id = ANY($1::uuid[])`, [ids]);
    const found = new Set(known.map(({ id }) => id));
    ids.forEach((id, i) => {
      if (!found.has(id.toLowerCase())) throw unknown(`/members/${i}`, `no user has the ID "${id}"`);
    });
    return [...found].map((id) => ({ member: `user ${id}`, userId: id, providerId: null, ssoGroup: null }));
  }

  private async ssoGroups(tx: EntityManager, groups: readonly SsoGroup[]): Promise<MemberRow[]> {
    const known: { id: string; name: string }[] = await tx.query(
      `SELECT id, name FROM identity_provider WHERE name = ANY($1::text[])`,
      [groups.map(({ provider }) => provider)],
    );
    const idOf = new Map(known.map(({ id, name }) => [name, id]));
    return groups.map(({ provider, group }, i) => {
      const id = idOf.get(provider);
      if (id === undefined) throw unknown(`/ssoGroups/${i}/provider`, `no identity provider is named "${provider}"`);
      return { member: `sso ${id} ${group}`, userId: null, providerId: id, ssoGroup: group };
    });
  }
}

function unknown(pointer: string, detail: string): Problem {
  return new Problem('refused', 'approver-group.unknown-member', `${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
