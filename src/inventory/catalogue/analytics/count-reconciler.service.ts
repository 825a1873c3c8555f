import { Injectable, Logger } from '@nestjs/common';
import type { PoolClient } from 'pg';
import { Counter } from 'prom-client';
import { DataSource } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { JobLeases } from '../../../platform/work/job-lease.repository.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { ASSET_KINDS } from '../../model/asset-kind.js';
import { tallied } from '../../model/tally.js';
import { repairStates } from './asset-states.repository.js';
import { Background, isWorker } from '../../../platform/work/background.js';

const JOB = 'reconcile-counts';
const DAY_MS = 24 * 3_600_000;
/** MAX_MS is the timeout for the statement and for the driver. The statement reads every asset, which takes minutes at 100 million assets. */
const MAX_MS = 3_600_000;
/** PAGE is the number of sources per statement. */
const PAGE = 200;

/** WrongCounts contains the number of wrong counts in one dimension of `inventory_tally`, and their total deviation. */
export interface WrongCounts {
  readonly dimension: string;
  readonly values: number;
  readonly off: number;
}

export interface Reconciled {
  /** Number of assets whose state did not match their occurrences. */
  readonly states: number;
  readonly tally: readonly WrongCounts[];
  /** Number of sources with wrong counts. SourceCounter recounts them. */
  readonly sources: number;
}

/**
 * CountReconciler compares asset states with occurrences and running counts with assets, and repairs both. Ingests only add differences to the counts, so a
 * count corrupted by a bug or an older version would otherwise never be corrected.
 *
 * One statement compares and repairs the counts on one snapshot. The repair also adds a difference, so concurrent updates are preserved.
 */
@Injectable()
export class CountReconciler {
  private readonly logger = new Logger(CountReconciler.name);
  private readonly repaired: Counter;

  constructor(
    private readonly db: DataSource,
    private readonly jobs: JobLeases,
    private readonly audit: AuditService,
    { registry }: Metrics,
  ) {
    this.repaired = new Counter({
      name: 'sealwright_counts_repaired_total',
      help: 'Inventory counts found wrong and repaired by this process',
      labelNames: ['of'],
      registers: [registry],
    });
  }

  /** Reconciles immediately. @returns undefined if another process is reconciling */
  async now(): Promise<Reconciled | undefined> {
    return (await this.jobs.alone(JOB, () => this.reconcile()))?.result;
  }

  /** Reconciles once a day, and after every migration. */
  @Background({ name: JOB, scope: 'cluster', every: DAY_MS, when: isWorker, drain: false, quotesErrors: false })
  async reconcile(): Promise<Reconciled> {
    // States are repaired first, because the tally counts assets by state.
    const states = await repairStates(this.db);
    const tally = await this.reconcileTally();
    const sources = await this.reconcileSources();
    const values = tally.reduce((sum, one) => sum + one.values, 0);
    if (states + values + sources === 0) return { states, tally, sources };
    this.repaired.inc({ of: 'state' }, states);
    this.repaired.inc({ of: 'tally' }, values);
    this.repaired.inc({ of: 'source' }, sources);
    const found = tally.map(
      ({ dimension, values: count, off }) => `${dimension}: ${count} counts, off by ${off} in total`,
    );
    this.logger.error(
      `repaired wrong inventory counts: ${[`${states} states`, ...found, `${sources} sources`].join('; ')}`,
    );
    await this.db.transaction((tx) =>
      this.audit.append(tx, [
        {
          action: 'inventory.counts-repaired',
          actor: { kind: 'system', id: JOB, name: JOB },
          target: { kind: 'inventory', id: 'counts' },
          correlation: JOB,
          detail: { states, tally: [...tally], sources },
        },
      ]),
    );
    return { states, tally, sources };
  }

  private async reconcileTally(): Promise<WrongCounts[]> {
    const runner = this.db.createQueryRunner();
    const client = (await runner.connect()) as PoolClient;
    try {
      await runner.startTransaction();
      await runner.query(`SET LOCAL statement_timeout = ${MAX_MS}`);
      // The type definitions of pg omit the timeout of a single query.
      const query = { text: REPAIR_TALLY, values: [ASSET_KINDS], query_timeout: MAX_MS };
      const { rows } = await client.query<WrongCounts>(query);
      await runner.commitTransaction();
      return rows;
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    } finally {
      await runner.release();
    }
  }

  /** Requests a recount of sources with wrong counts. Skips sources that already await a recount, because their counts are expected to be wrong. */
  private async reconcileSources(): Promise<number> {
    let wrong = 0;
    for (let after: string | undefined = NIL_ID; after !== undefined;) {
      const [page] = (await this.db.query(RECOUNT_WRONG_SOURCES, [after])) as { last: string | null; wrong: number }[];
      wrong += page?.wrong ?? 0;
      after = page?.last ?? undefined;
    }
    return wrong;
  }
}

const REPAIR_TALLY = `
  WITH actual AS (
    SELECT d.dimension, d.value, c.level::smallint AS level, count(*) AS count
    FROM (SELECT ${tallied('a')} FROM judged_asset a WHERE a.kind = ANY($1)) c, unnest(c.dimension, c.value) AS d(dimension, value)
    WHERE d.value IS NOT NULL GROUP BY 1, 2, 3),
  kept AS (SELECT dimension, value, level, sum(count) AS count FROM inventory_tally GROUP BY 1, 2, 3),
  wrong AS (
    SELECT dimension, value, level, coalesce(a.count, 0) - coalesce(k.count, 0) AS step
    FROM actual a FULL JOIN kept k USING (dimension, value, level) WHERE coalesce(a.count, 0) <> coalesce(k.count, 0)),
  repaired AS (
    INSERT INTO inventory_tally AS t (dimension, value, level, slot, count)
    SELECT dimension, value, level, 0, step FROM wrong ORDER BY 1, 2, 3
    ON CONFLICT (dimension, value, level, slot) DO UPDATE SET count = t.count + excluded.count)
  SELECT dimension, count(*)::int AS values, sum(abs(step))::float8 AS off FROM wrong GROUP BY dimension ORDER BY dimension`;

const ofLevel = (level: number) => `coalesce(sum(n) FILTER (WHERE level = ${level}), 0)::int`;

/** SQL that requests a recount of the sources after $1 whose counts do not match their assets. `last` is null on the last page. */
const RECOUNT_WRONG_SOURCES = `
  WITH page AS (SELECT id FROM inventory_source WHERE id > $1 ORDER BY id LIMIT ${PAGE}),
  wrong AS (
    SELECT p.id FROM page p LEFT JOIN inventory_source_count k ON k.source_id = p.id
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(n), 0)::int AS total, ARRAY[${[0, 1, 2, 3, 4].map(ofLevel).join(', ')}] AS levels, ${ofLevel(-1)} AS unjudged
      FROM (SELECT coalesce(a.level, -1) AS level, count(*) AS n
            FROM (SELECT DISTINCT asset_id FROM asset_occurrence WHERE source_id = p.id AND missed = 0) o JOIN judged_asset a ON a.id = o.asset_id
            GROUP BY 1) c) actual
    WHERE (coalesce(k.total, 0), coalesce(k.levels, ARRAY[0, 0, 0, 0, 0]), coalesce(k.unjudged, 0))
        IS DISTINCT FROM (actual.total, actual.levels, actual.unjudged)
      AND NOT EXISTS (SELECT FROM inventory_recount r WHERE r.source_id = p.id)),
  asked AS (INSERT INTO inventory_recount (source_id) SELECT id FROM wrong)
  SELECT (SELECT id FROM page ORDER BY id DESC OFFSET ${PAGE - 1} LIMIT 1) AS last, (SELECT count(*)::int FROM wrong) AS wrong`;
