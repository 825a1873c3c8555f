import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource, type EntityManager } from 'typeorm';
import { causeOf } from '../../platform/database/database-error.js';
import { keepSourceCount } from '../model/tally.js';
import { SingleFlight } from '../../platform/jobs/runners.js';

const EVERY_MS = 2000;
const BATCH = 200;
const JOB_LOCK = `hashtextextended('inventory.recount', 0)`;

/** Keeps the counts of assets by source, beside the ingest, which does not wait for it. */
@Injectable()
export class SourceCounter {
  private readonly logger = new Logger(SourceCounter.name);
  private readonly runs = new SingleFlight((error) => this.logger.warn(`sources were not counted: ${causeOf(error)}`));

  constructor(private readonly db: DataSource) {}

  @Interval(EVERY_MS)
  look(): Promise<void> {
    return this.runs.run(async () => {
      while (await this.db.transaction((tx) => countBatch(tx)));
    });
  }
}

/** One at a time, so that no older count comes after a newer one. Answers whether there was anything to do. */
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
