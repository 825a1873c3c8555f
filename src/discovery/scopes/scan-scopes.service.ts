import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { scanStatusesBefore, ScanScope } from '../scan.entity.js';
import { ScopeGuard } from './scope-guard.js';

const MAX_NETWORKS = 1000;

export type NewScanScope = Pick<ScanScope, 'name' | 'networks' | 'names' | 'ports'>;

/** ScanScopesService manages scan scopes. */
@Injectable()
export class ScanScopesService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly guard: ScopeGuard,
    private readonly cursors: Cursors,
  ) {}

  async create(caller: Caller, order: NewScanScope, use?: IdempotentUse): Promise<ScanScope> {
    const id = use?.resource ?? newId();
    const written = order.networks.flatMap((text, i) => this.guard.networks(text, `/networks/${i}`));
    const networks = [...new Set(written)];
    if (networks.length > MAX_NETWORKS) throw tooMany(networks.length);
    const names = order.names.map((name) => name.toLowerCase().replace(/\.$/, ''));
    if (networks.length + names.length === 0)
      throw new Problem('malformed', 'scan-scope.empty', 'A scope requires at least one network or name.');
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return await tx.findOneByOrFail(ScanScope, { id: earlier });
      await tx.insert(ScanScope, { ...order, id, networks, names, createdBy: caller.name });
      await this.audit.appendBy(tx, caller, entry('scan-scope.created', id, { ...order, networks, names }));
      return await tx.findOneByOrFail(ScanScope, { id });
    };
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    const detail = `A scope named "${order.name}" already exists.`;
    return writeUnique(this.db, insert, () => new Problem('conflict', 'scan-scope.name-taken', detail, { errors }));
  }

  async get(id: string): Promise<ScanScope> {
    const scope = await this.db.manager.findOneBy(ScanScope, { id });
    if (scope !== null) return scope;
    throw missing('scan-scope');
  }

  /** Returns scan scopes, newest first. */
  async list(page: PageQuery): Promise<Page<ScanScope>> {
    return this.cursors.newest('scan-scopes', this.db.createQueryBuilder(ScanScope, 'scope'), page);
  }

  /** Deletes a scope and cancels its queued and running scans. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.get(id);
    await this.db.transaction(async (tx) => {
      await tx.delete(ScanScope, { id });
      await tx.query(
        `UPDATE scan SET status = 'CANCELLED', worker = NULL, finished_at = now() WHERE scope_id = $1 AND status = ANY($2)`,
        [id, scanStatusesBefore('CANCELLED')],
      );
      await this.audit.appendBy(tx, caller, entry('scan-scope.removed', id, {}));
    });
  }
}

function tooMany(count: number): Problem {
  const detail = `expand to ${count} networks; the maximum is ${MAX_NETWORKS}`;
  const errors = [{ pointer: '/networks', detail }];
  return new Problem('malformed', 'request.invalid', `/networks: ${detail}.`, { errors });
}

function entry(action: string, id: string, detail: Record<string, unknown>) {
  return { action, target: { kind: 'scan-scope', id }, detail };
}
