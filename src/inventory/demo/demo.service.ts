import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { RawBody } from '../../platform/http/bodies/raw-body.js';
import { Clock } from '../../platform/time/clock.js';
import { AnalyticsReader } from '../analytics/analytics.reader.js';
import type { InventorySummary } from '../analytics/inventory-counts.entity.js';
import { addToTally, tallied } from '../model/tally.js';
import { IngestService } from '../imports/ingest.service.js';
import { lockVerdictsShared } from '../risk/rule-book.js';
import { DEMO_PREFIX, demoDocuments } from './demo-documents.js';

const DAY_MS = 24 * 3600 * 1000;
const DEMO_DAYS = 90;
/** The beginning stands in the statement, since an index finds no beginning that comes as a parameter. */
const IS_DEMO = `name LIKE '${DEMO_PREFIX}%'`;

export interface DemoRemoved {
  readonly sources: number;
  readonly assets: number;
  readonly days: number;
}

/** Fills an empty inventory with something to look at, and takes it out again without a trace in what is real. */
@Injectable()
export class DemoService {
  constructor(
    private readonly db: DataSource,
    private readonly ingests: IngestService,
    private readonly analytics: AnalyticsReader,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** An inventory that holds anything is left as it is. Answers whether the demo was put in. */
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

  /** How many sources are of the demo. */
  async sources(): Promise<number> {
    const [row] = (await this.db.query(`SELECT count(*)::int AS count FROM inventory_source WHERE ${IS_DEMO}`)) as {
      count: number;
    }[];
    return row?.count ?? 0;
  }

  /** All of it: the sources of the demo, what only they show, and the days that were made up. */
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

  /** A past in which things grew better, so that there is a line to look at. */
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

/** `share` of the way back: more of what is bad, less of what is ready. */
function pastSummary(now: InventorySummary, share: number): InventorySummary {
  const [none = 0, low = 0, medium = 0, high = 0, critical = 0] = now.levels;
  const worse = Math.round(share * none * 0.5);
  const levels = [none - worse, low, medium, high + Math.floor(worse / 2), critical + Math.ceil(worse / 2)];
  const readiness = now.readiness === null ? null : now.readiness * (1 - share * 0.6);
  return { ...now, levels, readiness };
}

/** Deletes the assets that no other source shows, and takes them off the running counts. */
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
