import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { keepSourceCount } from '../../model/tally.js';
import { Background } from '../../../platform/work/background.js';

const BATCH = 200;
const WAITING = { table: 'inventory_recount', where: 'true', order: 'id' };
const JOB_LOCK = `hashtextextended('inventory.recount', 0)`;

/** SourceCounter maintains the asset counts of sources. Ingests do not wait for recounts. */
@Injectable()
export class SourceCounter {
  constructor(private readonly db: DataSource) {}

  /** Counts the assets of one batch of sources. @returns false if no source was waiting, or another process is counting */
  @Background({ name: 'inventory-recounts', scope: 'process', due: WAITING, quotesErrors: false })
  countBatch(): Promise<boolean> {
    return this.db.transaction((tx) => countBatch(tx));
  }
}

/**
 * Counts one batch of sources. Only one process counts at a time, so that an older count never overwrites a newer one. Returns false if no source was waiting
 * or another process is counting.
 */
async function countBatch(tx: EntityManager): Promise<boolean> {
  const [lock] = (await tx.query(`SELECT pg_try_advisory_xact_lock(${JOB_LOCK}) AS mine`)) as { mine: boolean }[];
  if (lock?.mine !== true) return false;
  const [taken] = (await tx.query(
    `DELETE FROM inventory_recount WHERE id IN (SELECT id FROM inventory_recount LIMIT ${BATCH}) RETURNING source_id AS id`,
  )) as [{ id: string }[], number];
  for (const id of new Set(taken.map((source) => source.id))) await count(tx, id);
  return taken.length > 0;
}

async function count(tx: EntityManager, sourceId: string): Promise<void> {
  const counted = `
    SELECT coalesce(a.level, -1), count(*)
    FROM (SELECT DISTINCT asset_id FROM asset_occurrence WHERE source_id = $1 AND missed = 0) o JOIN judged_asset a ON a.id = o.asset_id
    GROUP BY 1`;
  await tx.query(keepSourceCount(counted), [sourceId]);
}
