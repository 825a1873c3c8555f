import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { RawBody } from '../../../platform/http/bodies/raw-body.js';
import { Clock } from '../../../platform/work/clock.js';
import { AnalyticsReader } from '../analytics/analytics.reader.js';
import type { InventorySummary } from '../analytics/inventory-counts.entity.js';
import { addToTally, tallied } from '../../model/tally.js';
import { IngestService } from '../../intake/imports/ingest.service.js';
import { lockVerdictsShared } from '../../judgement/risk/rule-book.js';
import { DEMO_PREFIX, demoDocuments } from './demo-documents.js';

const DAY_MS = 24 * 3600 * 1000;
const DEMO_DAYS = 90;
/** The prefix is a literal, because a generic plan cannot use the index for `LIKE $1`. */
const IS_DEMO = `name LIKE '${DEMO_PREFIX}%'`;

export interface DemoRemoved {
  readonly sources: number;
  readonly assets: number;
  readonly days: number;
}

/** DemoService fills an empty inventory with demo data, and removes the demo data without affecting real data. */
@Injectable()
export class DemoService {
  constructor(
    private readonly db: DataSource,
    private readonly ingests: IngestService,
    private readonly analytics: AnalyticsReader,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Adds the demo data unless the inventory already contains a source. Returns true if data was added. */
  async seed(caller: Caller): Promise<boolean> {
    const known = (await this.db.query('SELECT 1 FROM inventory_source LIMIT 1')) as unknown[];
    if (known.length > 0) return false;
    for (const { source, document } of demoDocuments(this.clock.now())) {
      const body = new RawBody(Buffer.from(JSON.stringify(document)), 'application/json');
      await this.ingests.ingest(caller, body, { mode: 'strict', source });
    }
    await this.seedPast(await this.analytics.summary());
    return true;
  }

  async sources(): Promise<number> {
    const [row] = (await this.db.query(`SELECT count(*)::int AS count FROM inventory_source WHERE ${IS_DEMO}`)) as {
      count: number;
    }[];
    return row?.count ?? 0;
  }

  /** Deletes the demo sources, the assets that only they contain, and the demo history. */
  async remove(caller: Caller): Promise<DemoRemoved> {
    return this.db.transaction(async (tx) => {
      await tx.query(
        `CREATE TEMP TABLE demo_source ON COMMIT DROP AS SELECT id FROM inventory_source WHERE ${IS_DEMO}`,
      );
      await tx.query(
        `SELECT pg_advisory_xact_lock(hashtextextended(id::text, 0)) FROM (SELECT id FROM demo_source ORDER BY id) s`,
      );
      const assets = await removeAssets(tx);
      await removeDocuments(tx);
      const [, sources] = (await tx.query('DELETE FROM inventory_source WHERE id IN (SELECT id FROM demo_source)')) as [
        unknown[],
        number,
      ];
      const [, days] = (await tx.query('DELETE FROM inventory_snapshot WHERE demo')) as [unknown[], number];
      const removed = { sources, assets, days };
      await this.audit.appendBy(tx, caller, {
        action: 'inventory.demo-removed',
        target: { kind: 'inventory', id: 'demo' },
        detail: { ...removed },
      });
      return removed;
    });
  }

  /** Creates a history of gradual improvement, so that charts have data. */
  private async seedPast(now: InventorySummary): Promise<void> {
    const today = this.clock.now().getTime();
    for (let before = DEMO_DAYS; before >= 2; before -= 1) {
      const day = new Date(today - before * DAY_MS).toISOString().slice(0, 10);
      await this.db.query(
        `INSERT INTO inventory_snapshot (day, demo, summary, counts) VALUES ($1, true, $2, '{}') ON CONFLICT DO NOTHING`,
        [day, JSON.stringify(pastSummary(now, before / DEMO_DAYS))],
      );
    }
  }
}

/**
 * Returns the summary of a past day. `share` is the age of the day, from 0 (now) to 1. With increasing age, more assets are at risk and fewer assets need no
 * migration.
 */
function pastSummary(now: InventorySummary, share: number): InventorySummary {
  const [none = 0, low = 0, medium = 0, high = 0, critical = 0] = now.levels;
  const worse = Math.round(share * none * 0.5);
  const levels = [none - worse, low, medium, high + Math.floor(worse / 2), critical + Math.ceil(worse / 2)];
  const readiness = now.readiness === null ? null : now.readiness * (1 - share * 0.6);
  return { ...now, levels, readiness };
}

/** Deletes the assets that no other source contains, and subtracts them from the running counts. */
async function removeAssets(tx: EntityManager): Promise<number> {
  await tx.query(
    `CREATE TEMP TABLE demo_asset ON COMMIT DROP AS
     SELECT DISTINCT o.asset_id AS id FROM asset_occurrence o WHERE o.source_id IN (SELECT id FROM demo_source)
       AND NOT EXISTS (SELECT FROM asset_occurrence x WHERE x.asset_id = o.asset_id AND x.source_id NOT IN (SELECT id FROM demo_source))`,
  );
  await lockVerdictsShared(tx);
  const removed = `SELECT -1 AS step, ${tallied('a')} FROM judged_asset a JOIN demo_asset m ON m.id = a.id`;
  await tx.query(addToTally(removed));
  await tx.query('DELETE FROM asset_occurrence WHERE source_id IN (SELECT id FROM demo_source)');
  await tx.query('DELETE FROM asset_source_name WHERE source_id IN (SELECT id FROM demo_source)');
  await tx.query('DELETE FROM asset_relationship WHERE source_id IN (SELECT id FROM demo_source)');
  const [, count] = (await tx.query('DELETE FROM asset WHERE id IN (SELECT id FROM demo_asset)')) as [
    unknown[],
    number,
  ];
  return count;
}

async function removeDocuments(tx: EntityManager): Promise<void> {
  await tx.query('DELETE FROM inventory_document WHERE source_id IN (SELECT id FROM demo_source)');
  await tx.query('DELETE FROM inventory_source_count WHERE source_id IN (SELECT id FROM demo_source)');
  await tx.query(
    'DELETE FROM bom_link_refs r WHERE NOT EXISTS (SELECT FROM inventory_document d WHERE d.said = r.said)',
  );
}
