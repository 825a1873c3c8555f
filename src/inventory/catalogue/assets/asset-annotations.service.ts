import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { missing } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { lockVerdictsShared } from '../../judgement/risk/rule-book.js';
import { Asset } from './asset.entity.js';
import { addToTally } from '../../model/tally.js';

export interface Annotation {
  /** Owner; null removes the current owner. */
  readonly owner?: string | null;
  readonly labels?: readonly string[];
}

/** AssetAnnotationsService changes the owner and labels of assets. Imported documents never change owners or labels. */
@Injectable()
export class AssetAnnotationsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {}

  /** @throws Problem 404 `asset.missing`, 412 if the asset has changed since `version`. */
  async change(caller: Caller, id: string, version: number, { owner, labels }: Annotation): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockVerdictsShared(tx);
      const before = await tx.findOne(Asset, {
        where: { id },
        select: { id: true, owner: true, labels: true, version: true },
        lock: { mode: 'pessimistic_write' },
      });
      if (before === null) throw missing('asset');
      if (before.version !== version) throw staleProblem(`/api/assets/${id}`);
      const after = { owner: owner === undefined ? before.owner : owner, labels: [...(labels ?? before.labels)] };
      await tx.update(Asset, { id }, { ...after, version: version + 1 });
      await recount(tx, before, after.owner);
      await this.audit.appendBy(tx, caller, {
        action: 'inventory.asset-annotated',
        target: { kind: 'asset', id },
        detail: { before: { owner: before.owner, labels: before.labels }, after },
      });
    });
  }
}

/** Moves an asset from the count of the previous owner to the count of the new owner. */
async function recount(tx: EntityManager, before: Pick<Asset, 'id' | 'owner'>, owner: string | null): Promise<void> {
  if (before.owner === owner) return;
  const counted = `
    SELECT c.step, coalesce(a.level, -1) AS level, ARRAY['owner'] AS dimension, ARRAY[c.value] AS value
    FROM judged_asset a, (VALUES (coalesce($2::text, ''), -1), (coalesce($3::text, ''), 1)) AS c(value, step) WHERE a.id = $1`;
  await tx.query(addToTally(counted), [before.id, before.owner, owner]);
}
