import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, Column, Entity, PrimaryColumn, Unique } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { newId } from '../../../platform/database/new-id.js';
import { writeUnique } from '../../../platform/errors/database-error.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { Clock } from '../../../platform/work/clock.js';
import { conditionsOf } from '../assets/asset-filter.js';

/** SavedQuery is an asset list query that was saved under a name for all users. */
export interface SavedQuery {
  /** Query in the syntax of the parameter `q`. */
  readonly q: string;
  readonly sort: string;
}

@Entity('inventory_view')
@Unique('inventory_view_name', ['name'])
export class SavedView {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('jsonb')
  query: SavedQuery;

  @Column('text')
  createdBy: string;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}

const MAX_VIEWS = 500;

export interface ViewOrder {
  readonly name: string;
  readonly query: SavedQuery;
}

/** SavedViewsService manages saved queries. Invalid queries are not saved. */
@Injectable()
export class SavedViewsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly clock: Clock,
  ) {
    this.record = audit.recorderFor('inventory-view');
  }

  async list(): Promise<SavedView[]> {
    return this.db.manager.find(SavedView, { order: { name: 'ASC' }, take: MAX_VIEWS });
  }

  /** @throws Problem 404 `view.missing`. */
  async get(id: string): Promise<SavedView> {
    const view = await this.db.manager.findOneBy(SavedView, { id });
    if (view === null) throw missing('view');
    return view;
  }

  /** @throws Problem 400 `query.invalid`, 409 `view.name`. */
  async create(caller: Caller, order: ViewOrder, use?: IdempotentUse): Promise<SavedView> {
    const id = use?.resource ?? newId();
    this.assertQuery(order.query);
    const made = await this.write(order.name, async (tx) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      if ((await tx.count(SavedView)) >= MAX_VIEWS)
        throw new Problem('conflict', 'view.limit', `The limit of ${MAX_VIEWS} views is reached. Delete one first.`);
      await tx.insert(SavedView, { id, name: order.name, query: { ...order.query }, createdBy: caller.id });
      await this.record(tx, caller, 'inventory.view-created', id, { ...order });
      return id;
    });
    return this.get(made);
  }

  /** @throws Problem 412 if the saved query has changed since `version`. */
  async change(caller: Caller, id: string, version: number, order: ViewOrder): Promise<SavedView> {
    this.assertQuery(order.query);
    await this.get(id);
    await this.write(order.name, async (tx) => {
      const next = { name: order.name, query: { ...order.query }, version: version + 1, changedAt: this.clock.now() };
      const { affected } = await tx.update(SavedView, { id, version }, next);
      if (affected !== 1) throw staleProblem(`/api/asset-views/${id}`);
      await this.record(tx, caller, 'inventory.view-changed', id, { ...order });
    });
    return this.get(id);
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(SavedView, { id });
      if (affected !== 1) throw missing('view');
      await this.record(tx, caller, 'inventory.view-removed', id, {});
    });
  }

  private assertQuery({ q }: SavedQuery): void {
    conditionsOf({ q }, 'a', this.clock.now());
  }

  private write<T>(name: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return writeUnique(
      this.db,
      work,
      () => new Problem('conflict', 'view.name', `A view named "${name}" already exists.`),
    );
  }
}
