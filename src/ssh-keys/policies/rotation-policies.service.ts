import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import type { Caller } from '../../auth/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/database/unique-write.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/http/problem.js';
import { RotationPolicy } from './rotation-policy.entity.js';

export type NewRotationPolicy = Pick<RotationPolicy, 'name' | 'maxAgeDays' | 'keyOwner' | 'mostPerHour' | 'settings'>;

/** What is to be rotated by its age alone, as people say it. */
@Injectable()
export class RotationPoliciesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
  ) {}

  async create(caller: Caller, order: NewRotationPolicy): Promise<RotationPolicy> {
    const id = newId();
    const { kind, id: callerId, name, ownerId } = caller;
    const insert = async (tx: EntityManager) => {
      await tx.insert(RotationPolicy, { ...order, id, madeBy: { kind, id: callerId, name }, ownerId });
      await this.audit.appendBy(tx, caller, entry('ssh-rotation-policy.created', id, { ...order }));
    };
    const detail = `There is a policy named "${order.name}" already.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    await writeUnique(this.db, insert, () => new Problem('conflict', 'rotation-policy.name-taken', detail, { errors }));
    return await this.get(id);
  }

  async get(id: string): Promise<RotationPolicy> {
    const policy = await this.db.manager.findOneBy(RotationPolicy, { id });
    if (policy !== null) return policy;
    throw new Problem('missing', 'rotation-policy.missing', 'There is no rotation policy with this id.');
  }

  /** Newest first. */
  async list(page: PageQuery): Promise<Page<RotationPolicy>> {
    return this.cursors.newest('ssh-rotation-policies', this.db.createQueryBuilder(RotationPolicy, 'policy'), page);
  }

  /** What it has ordered goes on. */
  async remove(caller: Caller, id: string): Promise<void> {
    const { name } = await this.get(id);
    await this.db.transaction(async (tx) => {
      await tx.delete(RotationPolicy, { id });
      await this.audit.appendBy(tx, caller, entry('ssh-rotation-policy.removed', id, { name }));
    });
  }
}

function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'ssh-rotation-policy', id }, detail };
}
