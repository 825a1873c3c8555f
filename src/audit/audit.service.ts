import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { columns } from '../platform/database/columns.js';
import { newId } from '../platform/database/new-id.js';
import { Cursors, DEFAULT_LIMIT, type Page, type PageQuery } from '../platform/http/page.js';
import { AuditEntry, type AuditOutcome } from './audit-entry.entity.js';

/** Who did it. */
export interface Actor {
  readonly kind: 'user' | 'api-key' | 'system' | 'anonymous';
  readonly id: string;
  readonly name: string;
}

export interface NewEntry {
  readonly action: string;
  readonly outcome?: AuditOutcome;
  readonly actor: Actor;
  readonly target: { readonly kind: string; readonly id: string };
  readonly correlation: string;
  readonly source?: string;
  /** Facts that are safe to show: never a secret, never a whole body. */
  readonly detail?: Record<string, unknown>;
}

export interface AuditFilter extends PageQuery {
  readonly target?: string;
}

/** The log of who did what. An entry commits with the change that it records, or neither does. */
@Injectable()
export class AuditService {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async append(tx: EntityManager, entries: readonly NewEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { from, values } = columns(entries.map(rowOf), {
      id: 'uuid',
      action: 'text',
      outcome: 'text',
      actor_kind: 'text',
      actor_id: 'text',
      actor_name: 'text',
      target_kind: 'text',
      target_id: 'text',
      correlation: 'text',
      source: 'text',
      detail: 'jsonb',
    });
    await tx.query(
      `INSERT INTO audit_entry (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail)
       SELECT id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail::jsonb FROM ${from}`,
      values,
    );
  }

  /** Newest first. */
  async list(filter: AuditFilter): Promise<Page<AuditEntry>> {
    const { limit = DEFAULT_LIMIT, cursor, target } = filter;
    const list = `audit ${target ?? ''}`;
    const [before] = this.cursors.read(list, cursor) ?? [];
    const query = this.db
      .createQueryBuilder(AuditEntry, 'entry')
      .orderBy('entry.id', 'DESC')
      .take(limit + 1);
    if (target !== undefined) query.andWhere('entry.targetId = :target', { target });
    if (before !== undefined) query.andWhere('entry.id < :before', { before });
    return this.cursors.page(list, await query.getMany(), limit, ({ id }) => [id]);
  }
}

function rowOf(entry: NewEntry) {
  return {
    id: newId(),
    action: entry.action,
    outcome: entry.outcome ?? 'done',
    actor_kind: entry.actor.kind,
    actor_id: entry.actor.id,
    actor_name: entry.actor.name,
    target_kind: entry.target.kind,
    target_id: entry.target.id,
    correlation: entry.correlation,
    source: entry.source ?? '',
    detail: entry.detail ?? {},
  };
}
