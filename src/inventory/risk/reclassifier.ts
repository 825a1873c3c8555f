import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { Happenings } from '../../platform/events/happenings.js';
import { columnsOf } from '../ingest/asset-rows.js';
import { RiskEngine } from './risk-engine.js';
import type { RiskSubject } from './risk-subject.js';
import { levelNumber, type RiskVerdict } from './risk-verdict.js';
import { RuleBook } from './rule-book.js';
import { differs } from './rule-trial.js';

const LOOK_EVERY_MS = 10_000;
const PAGE = 200;
/** Assets that one transaction writes: small enough not to hold others up. */
const BATCH = 20_000;
/** Before all others. */
const FIRST = '00000000-0000-0000-0000-000000000000';
const RECOUNT_ALL = 'INSERT INTO inventory_recount (source_id) SELECT id FROM inventory_source';
const JOB_LOCK = `hashtextextended('inventory.reclassify', 0)`;

interface Rules {
  readonly edition: string;
  readonly version: number;
  /** What people are told of a risk that is another one now. */
  readonly why: string;
}

/** What came of judging everything. */
export interface JudgedAnew {
  /** Sets of facts. */
  readonly judged: number;
  readonly changedAssets: number;
}

interface Stored {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

/**
 * Judges everything anew after a change of rules. Sets of facts are judged, not assets: assets of the same facts follow together.
 * It may stop anywhere: a verdict says by which version it was made, and an asset is written only while it differs.
 */
@Injectable()
export class Reclassifier implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(Reclassifier.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
    private readonly happenings: Happenings,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.wake(), LOOK_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    clearInterval(this.timer);
    await this.running;
  }

  wake(): void {
    if (this.stopped) return;
    this.again = true;
    this.running ??= this.run()
      .catch((error: unknown) =>
        this.logger.warn(`judging anew waits: ${error instanceof Error ? error.name : 'unknown'}`),
      )
      .finally(() => {
        this.running = undefined;
      });
  }

  /**
   * Judges everything by the present rules although they were not changed: a new release may come with other rules, or read the same
   * facts differently. Undefined while another process judges.
   */
  async judgeAnew(): Promise<JudgedAnew | undefined> {
    this.assertRunning();
    return this.alone((tx) => this.judgeEach(tx));
  }

  private async run(): Promise<void> {
    while (this.again && !this.stopped) {
      this.again = false;
      await this.look();
    }
  }

  private async look(): Promise<void> {
    const [waiting] = (await this.db.query(
      `SELECT 1 FROM risk_rule_set WHERE status = 'JUDGING' LIMIT 1`,
    )) as unknown[];
    if (waiting !== undefined) await this.alone((tx) => this.judgeAll(tx));
  }

  /** Undefined while another process judges. */
  private async alone<Result>(work: (tx: EntityManager) => Promise<Result>): Promise<Result | undefined> {
    const runner = this.db.createQueryRunner();
    try {
      const [lock] = (await runner.query(`SELECT pg_try_advisory_lock(${JOB_LOCK}) AS mine`)) as { mine: boolean }[];
      if (lock?.mine !== true) return undefined;
      try {
        return await work(runner.manager);
      } finally {
        await runner.query(`SELECT pg_advisory_unlock(${JOB_LOCK})`);
      }
    } finally {
      await runner.release();
    }
  }

  private async judgeEach(tx: EntityManager): Promise<JudgedAnew> {
    const { engine, ...by } = await this.rulesNow(tx, 'Everything was judged anew.');
    let [judged, changedAssets] = [0, 0];
    for (let after = FIRST; ; await turn()) {
      this.assertRunning();
      const rows = (await tx.query(
        'SELECT id, subject, verdict, rules FROM risk_verdict WHERE id > $1 ORDER BY id LIMIT $2',
        [after, PAGE],
      )) as (Stored & { rules: string })[];
      for (const row of rows) {
        const next = engine.judge(row.subject);
        if (row.rules !== by.edition || differs(row.verdict, next))
          changedAssets += await this.judge(tx, row, next, by);
      }
      judged += rows.length;
      after = rows.at(-1)?.id ?? after;
      if (rows.length < PAGE) break;
    }
    if (changedAssets > 0) await tx.query(RECOUNT_ALL);
    return { judged, changedAssets };
  }

  private assertRunning(): void {
    if (this.stopped) throw new Error('the process stops');
  }

  private async rulesNow(tx: EntityManager, why: string): Promise<Rules & { readonly engine: RiskEngine }> {
    const { version, ruleSet } = await this.book.read(tx);
    return { version, edition: editionOf(ruleSet.edition, version), why, engine: new RiskEngine(ruleSet) };
  }

  private async judgeAll(tx: EntityManager): Promise<void> {
    const { engine, ...by } = await this.rulesNow(tx, 'The rules were changed.');
    const { version, edition } = by;
    await tx.query(`UPDATE risk_rule_set SET total = (SELECT count(*) FROM risk_verdict) WHERE version = $1`, [
      version,
    ]);
    for (;;) {
      const rows = (await tx.query('SELECT id, subject, verdict FROM risk_verdict WHERE rules <> $1 LIMIT $2', [
        edition,
        PAGE,
      ])) as Stored[];
      let changed = 0;
      for (const row of rows) changed += await this.judge(tx, row, engine.judge(row.subject), by);
      await tx.query(
        'UPDATE risk_rule_set SET judged = judged + $2, changed_assets = changed_assets + $3 WHERE version = $1',
        [version, rows.length, changed],
      );
      if (this.stopped) return;
      if (rows.length < PAGE) break;
      await turn();
    }
    await tx.query(RECOUNT_ALL);
    await tx.query(
      `UPDATE risk_rule_set SET status = 'DONE', finished_at = now() WHERE version <= $1 AND status = 'JUDGING'`,
      [version],
    );
  }

  /** The assets first: the verdict says that it is done. */
  private async judge(tx: EntityManager, stored: Stored, next: RiskVerdict, by: Rules): Promise<number> {
    const { id, verdict } = stored;
    let changed = 0;
    if (differs(verdict, next))
      for (let count = BATCH; count === BATCH; changed += count)
        count = await tx.transaction((inner) => this.write(inner, stored, next, by));
    await tx.query('UPDATE risk_verdict SET verdict = $2, rules = $3 WHERE id = $1', [
      id,
      JSON.stringify(next),
      by.edition,
    ]);
    return changed;
  }

  /** A batch of assets; whoever waits for a changed risk hears of it in the same transaction. */
  private async write(tx: EntityManager, { id, verdict }: Stored, next: RiskVerdict, by: Rules): Promise<number> {
    const count = await writeAssets(tx, id, next);
    if (count === 0 || verdict.level === next.level) return count;
    const subject = { kind: 'risk-rules', id: String(by.version), name: `risk rules ${by.edition}` };
    const facts = { why: by.why, [`level${levelNumber(next.level)}`]: count };
    await this.happenings.tell(tx, [{ type: 'asset.risk-changed', subject, count, facts }]);
    return count;
  }
}

/** Names the rules by which a verdict was made. */
export function editionOf(edition: string, version: number): string {
  return version === 0 ? edition : `${edition}+${version}`;
}

const JUDGED = 'family, bits, level, quantum, classical, rule, deadline';
const DIMENSIONS = (row: string) => `
  coalesce(${row}.level, -1) AS level,
  ARRAY['kind', 'state', 'owner', 'quantum', 'family', 'size', 'deadline', 'expiry'] AS dimension,
  ARRAY[${row}.kind, ${row}.state, coalesce(${row}.owner, ''), ${row}.quantum, coalesce(${row}.family, ''),
        ${row}.family || ' ' || ${row}.bits, ${row}.deadline::text, to_char(${row}.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD')] AS value`;

/** Writes a batch of assets of one verdict and moves them from their old counts to the new, in one statement. */
async function writeAssets(tx: EntityManager, verdictId: string, verdict: RiskVerdict): Promise<number> {
  const { family, bits, level, quantum, classical, rule, deadline } = columnsOf(verdict);
  const [row] = (await tx.query(
    `WITH old AS (
       SELECT * FROM asset a WHERE a.verdict_id = $1
         AND (a.family, a.bits, a.level, a.quantum, a.classical, a.rule, a.deadline)
           IS DISTINCT FROM ($2::text, $3::int, $4::smallint, $5::text, $6::text, $7::text, $8::date)
       LIMIT ${BATCH} FOR UPDATE),
     new AS (
       UPDATE asset a SET (${JUDGED}) = ($2, $3, $4, $5, $6, $7, $8), changed_at = now() FROM old WHERE a.id = old.id RETURNING a.*),
     counted AS (
       INSERT INTO inventory_tally AS t (dimension, value, level, slot, count)
       SELECT d.dimension, d.value, c.level, 0, sum(c.step) FROM (
         SELECT -1 AS step, ${DIMENSIONS('old')} FROM old UNION ALL SELECT 1, ${DIMENSIONS('new')} FROM new) c,
         unnest(c.dimension, c.value) AS d(dimension, value)
       WHERE d.value IS NOT NULL GROUP BY d.dimension, d.value, c.level HAVING sum(c.step) <> 0 ORDER BY 1, 2, 3
       ON CONFLICT (dimension, value, level, slot) DO UPDATE SET count = t.count + excluded.count)
     SELECT count(*)::int AS count FROM new`,
    [verdictId, family, bits, level, quantum, classical, rule, deadline],
  )) as { count: number }[];
  return row?.count ?? 0;
}
