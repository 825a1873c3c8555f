import { Injectable, Logger } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { JobLeases } from '../../../platform/work/job-lease.repository.js';
import { recordAlertEvents } from '../../../platform/events/alert-events.js';
import { Background, isWorker } from '../../../platform/work/background.js';
import { BackgroundJobs } from '../../../platform/work/background-jobs.js';
import { addToTally, tallied } from '../../model/tally.js';
import { RiskEngine } from '../risk/risk-engine.js';
import type { RiskSubject } from '../../model/risk-subject.js';
import { deadlineByIn, levelNumber, type RiskVerdict, FACTS, verdictFactsIn } from '../../model/risk-verdict.js';
import { RuleBook, lockVerdicts } from '../risk/rule-book.js';
import { differs } from './rule-trial.js';

const JUDGING_JOB = 'risk-judgement';
const JUDGING = `SELECT 1 FROM risk_rule_set WHERE status = 'JUDGING'`;
const OUTDATED_EVERY_MS = 10_000;
const PAGE = 200;
const RECOUNT_ALL = 'INSERT INTO inventory_recount (source_id) SELECT id FROM inventory_source';
const JOB = 'reclassify';
const COMPARE_JOB = 'reconcile-verdicts';
const DAY_MS = 24 * 3_600_000;

interface Rules {
  readonly edition: string;
  readonly version: number;
  /** Reason for the changed risk, for alert events. */
  readonly why: string;
}

/** JudgedAnew is the result of reclassifying all assets. */
export interface JudgedAnew {
  /** Number of reclassified sets of facts. */
  readonly judged: number;
  /** Number of sets of facts whose verdict changed. */
  readonly repaired: number;
  readonly changedAssets: number;
}

interface Stored {
  readonly id: string;
  readonly subject: RiskSubject;
  readonly verdict: RiskVerdict;
}

/**
 * Reclassifier reclassifies all assets after a rule change. It processes sets of facts rather than assets, because assets with the same facts share a verdict
 * (docs/decisions/0068). It may be interrupted at any time, because each verdict contains the version of the rules that produced the verdict.
 */
@Injectable()
export class Reclassifier {
  private readonly logger = new Logger(Reclassifier.name);
  private isUpToDate = false;

  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
    private readonly leases: JobLeases,
    private readonly jobs: BackgroundJobs,
  ) {}

  /** Wakes the job that applies changed rules. Call this method after committing a rule change. */
  wake(): void {
    this.jobs.wake(JUDGING_JOB);
  }

  /**
   * Reclassifies all assets under the current rules, even if the rules have not changed. A new release may include different built-in rules or interpret the
   * same facts differently. Returns undefined while another process is reclassifying.
   */
  async judgeAnew(): Promise<JudgedAnew | undefined> {
    this.assertRunning();
    return this.alone((tx) => this.judgeEach(tx, 'All assets were assessed again.'));
  }

  /** Reclassifies all assets if the rules have changed. */
  @Background({ name: JUDGING_JOB, scope: 'process', first: 0, due: JUDGING, quotesErrors: false })
  async judgeByChangedRules(): Promise<void> {
    const waiting = (await this.db.query(`${JUDGING} LIMIT 1`)) as unknown[];
    if (waiting.length > 0) await this.alone((tx) => this.judgeAll(tx));
  }

  /**
   * Repairs verdicts that do not follow from the facts and the rules because the verdicts were modified outside the service or by a bug. Verdicts of other
   * editions are not changed, because processes of two versions run this comparison during an upgrade.
   */
  @Background({ name: COMPARE_JOB, scope: 'cluster', every: DAY_MS, when: isWorker, quotesErrors: false })
  async compare(): Promise<void> {
    const found = await this.alone((tx) => this.judgeEach(tx, 'A verdict differed from the rules.', 'this edition'));
    if (found === undefined || found.repaired === 0) return;
    const { repaired, changedAssets } = found;
    this.logger.error(`repaired ${repaired} verdicts of ${changedAssets} assets that differed from the rules`);
  }

  /** Reclassifies all assets, once after startup, if the rules in this release differ from the rules in the previous release. */
  @Background({ name: 'risk-edition', scope: 'process', every: OUTDATED_EVERY_MS, first: 0, quotesErrors: false })
  async judgeOutdated(): Promise<void> {
    if (this.isUpToDate) return;
    const { version, ruleSet } = await this.book.read(this.db.manager);
    const [outdated] = (await this.db.query('SELECT 1 FROM risk_verdict WHERE rules <> $1 LIMIT 1', [
      editionOf(ruleSet.edition, version),
    ])) as unknown[];
    if (outdated === undefined) this.isUpToDate = true;
    else await this.alone((tx) => this.judgeEach(tx, 'A new release changed the rules.'));
  }

  /** Runs `work` unless another process is reclassifying. Returns undefined if `work` did not run. */
  private async alone<Result>(work: (tx: EntityManager) => Promise<Result>): Promise<Result | undefined> {
    return (await this.leases.alone(JOB, () => work(this.db.manager)))?.result;
  }

  private async judgeEach(tx: EntityManager, why: string, which: 'all' | 'this edition' = 'all'): Promise<JudgedAnew> {
    const { engine, ...by } = await this.rulesNow(tx, why);
    let [judged, repaired, changedAssets] = [0, 0, 0];
    for (let after = NIL_ID; ; await turn()) {
      this.assertRunning();
      const rows = (await tx.query(
        'SELECT id, subject, verdict, rules FROM risk_verdict WHERE id > $1 ORDER BY id LIMIT $2',
        [after, PAGE],
      )) as (Stored & { rules: string })[];
      for (const row of rows) {
        if (which === 'this edition' && row.rules !== by.edition) continue;
        const next = engine.judge(row.subject);
        const isOther = differs(row.verdict, next);
        if (isOther) repaired += 1;
        if (isOther || row.rules !== by.edition) changedAssets += await this.judge(tx, row, next, by);
      }
      judged += rows.length;
      after = rows.at(-1)?.id ?? after;
      if (rows.length < PAGE) break;
    }
    if (changedAssets > 0) await tx.query(RECOUNT_ALL);
    return { judged, repaired, changedAssets };
  }

  private assertRunning(): void {
    if (this.jobs.isStopping) throw new Error('the process is stopping');
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
      if (this.jobs.isStopping) return;
      if (rows.length < PAGE) break;
      await turn();
    }
    await tx.query(RECOUNT_ALL);
    await tx.query(
      `UPDATE risk_rule_set SET status = 'DONE', finished_at = now() WHERE version <= $1 AND status = 'JUDGING'`,
      [version],
    );
  }

  /** Updates a verdict together with the counts of its assets. The alert event about the changed risk is recorded in the same transaction. */
  private async judge(tx: EntityManager, { id, verdict }: Stored, next: RiskVerdict, by: Rules): Promise<number> {
    return tx.transaction(async (inner) => {
      const isOther = differs(verdict, next);
      if (isOther) await lockVerdicts(inner);
      const count = isOther ? await moveCounts(inner, id, next) : 0;
      await inner.query(
        `UPDATE risk_verdict SET verdict = $2::jsonb, rules = $3, deadline_by = ${deadlineByIn('$2::jsonb')}, (${FACTS}) = ROW(${verdictFactsIn('$2::jsonb')})${isOther ? ', changed_at = now()' : ''}
         WHERE id = $1`,
        [id, JSON.stringify(next), by.edition],
      );
      if (count > 0 && verdict.level !== next.level) {
        const subject = { kind: 'risk-rules', id: String(by.version), name: `risk rules ${by.edition}` };
        const facts = { why: by.why, [`level${levelNumber(next.level)}`]: count };
        await recordAlertEvents(inner, [{ type: 'asset.risk-changed', subject, count, facts }]);
      }
      return count;
    });
  }
}

/** editionOf returns the name of a rule edition and version, which is stored with each verdict. */
export function editionOf(edition: string, version: number): string {
  return version === 0 ? edition : `${edition}+${version}`;
}

/** Moves the assets of a verdict from the counts of the current facts to the counts of the new facts. Returns the number of assets. */
async function moveCounts(tx: EntityManager, verdictId: string, next: RiskVerdict): Promise<number> {
  const moved = `
    SELECT -old.count AS step, ${tallied('old')} FROM old UNION ALL SELECT new.count AS step, ${tallied('new')} FROM new`;
  const [row] = (await tx.query(
    `WITH alike AS (
       SELECT kind, state, owner, date_trunc('day', not_after, 'UTC') AS not_after, count(*) AS count
       FROM asset WHERE verdict_id = $1 GROUP BY 1, 2, 3, 4),
     old AS (SELECT a.*, v.id AS verdict_id, ${FACTS} FROM alike a, risk_verdict v WHERE v.id = $1),
     new AS (SELECT a.*, $1::uuid AS verdict_id, n.* FROM alike a, (SELECT ${verdictFactsIn('$2::jsonb')}) AS n(${FACTS})),
     counted AS (${addToTally(moved)})
     SELECT coalesce(sum(count), 0)::int AS count FROM alike`,
    [verdictId, JSON.stringify(next)],
  )) as { count: number }[];
  return row?.count ?? 0;
}
