import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { NamedPageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { ApproverGroup } from './approver-group.entity.js';
import { approversIn, assertStillEnough } from './membership.js';
import { GroupMembers, type GroupMemberList } from './group-members.js';

export interface GroupOrder extends GroupMemberList {
  readonly name: string;
}

export type GroupWithMembers = ApproverGroup & GroupMemberList;

/** ApproverGroupsService manages approver groups. Every edit specifies the revision on which it is based, and takes effect with the next vote. */
@Injectable()
export class ApproverGroupsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly members: GroupMembers,
  ) {}

  async create(caller: Caller, order: GroupOrder, use?: IdempotentUse): Promise<GroupWithMembers> {
    const id = use?.resource ?? newId();
    return this.write(order.name, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return this.read(earlier, tx);
      await tx.insert(ApproverGroup, { id, name: order.name });
      await this.members.set(tx, caller, id, order);
      await this.record(tx, caller, id, 'approver-group.created', order);
      return this.read(id, tx);
    });
  }

  async change(caller: Caller, id: string, revision: number, order: GroupOrder): Promise<GroupWithMembers> {
    return this.write(order.name, async (tx) => {
      const [, changed]: [unknown, number] = await tx.query(
        `UPDATE approver_group SET name = $3, revision = revision + 1, updated_at = now() WHERE id = $1 AND revision = $2`,
        [id, revision, order.name],
      );
      if (changed !== 1) {
        await this.read(id, tx);
        throw staleProblem(`/api/v1/approver-groups/${id}`);
      }
      const before = await approversIn(tx, id);
      await this.members.set(tx, caller, id, order);
      await assertStillEnough(tx, id, before);
      await this.record(tx, caller, id, 'approver-group.changed', order);
      return this.read(id, tx);
    });
  }

  /** Deletes a group that no policy and no pending approval uses. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      // A policy that is being created locks the group until it is committed.
      await tx.query(`SELECT FROM approver_group WHERE id = $1 FOR UPDATE`, [id]);
      const { name } = await this.read(id, tx);
      const [used]: { by: string }[] = await tx.query(
        `SELECT name AS by FROM approval_policy WHERE stages @> jsonb_build_array(jsonb_build_object('groupId', $1::text))
         UNION ALL SELECT title FROM approval WHERE status = 'PENDING' AND $1::uuid = ANY(group_ids) LIMIT 1`,
        [id],
      );
      if (used !== undefined)
        throw new Problem(
          'conflict',
          'approver-group.in-use',
          `The approver group is in use by "${used.by}", so it cannot be deleted.`,
        );
      await this.members.clear(tx, id);
      await tx.delete(ApproverGroup, { id });
      await this.record(tx, caller, id, 'approver-group.removed', { name });
    });
  }

  async read(id: string, tx: EntityManager = this.db.manager): Promise<GroupWithMembers> {
    const group = await tx.findOneBy(ApproverGroup, { id });
    if (group === null) throw missing('approver-group');
    const [found] = await this.members.of(tx, [id]);
    return Object.assign(group, found);
  }

  /** Returns groups, newest first. */
  async list(query: NamedPageQuery): Promise<Page<GroupWithMembers>> {
    const select = this.db.createQueryBuilder(ApproverGroup, 'g');
    const page = await this.cursors.newestNamed('approver-groups', select, query);
    const members = await this.members.of(
      this.db.manager,
      page.items.map(({ id }) => id),
    );
    return { ...page, items: page.items.map((group, i) => Object.assign(group, members[i])) };
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const detail = `An approver group named "${name}" already exists.`;
    return writeUnique(this.db, work, () => new Problem('conflict', 'approver-group.name-taken', detail));
  }

  private record(
    tx: EntityManager,
    actor: Caller,
    id: string,
    action: string,
    { name, members, ssoGroups }: Partial<GroupOrder>,
  ): Promise<void> {
    const target = { kind: 'approver-group', id };
    return this.audit.appendBy(tx, actor, { action, target, detail: { name, members, ssoGroups } });
  }
}
