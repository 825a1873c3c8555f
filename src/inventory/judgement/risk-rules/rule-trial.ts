import { Injectable } from '@nestjs/common';
import { setImmediate as turn } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { RiskEngine } from '../risk/risk-engine.js';
import type { RiskSubject } from '../../model/risk-subject.js';
import { type Level, LEVELS, type RiskVerdict } from '../../model/risk-verdict.js';
import type { RuleSet } from '../../model/rule-set.js';

const PAGE = 500;
const MAX_EXAMPLES = 20;

export interface TrialExample {
  readonly verdictId: string;
  readonly family: string | null;
  readonly before: { readonly level: Level; readonly rule: string | null };
  readonly after: { readonly level: Level; readonly rule: string | null };
  readonly assets: number;
}

export interface RuleTrialResult {
  /** Number of assets whose level, determining rule, status or deadline would change. */
  readonly changedAssets: number;
  readonly before: Record<Level, number>;
  readonly after: Record<Level, number>;
  readonly examples: TrialExample[];
}

interface VerdictPair {
  readonly id: string;
  readonly before: RiskVerdict;
  readonly after: RiskVerdict;
}

/** differs reports whether two verdicts differ in the facts shown for an asset. */
export function differs(a: RiskVerdict, b: RiskVerdict): boolean {
  return (
    a.level !== b.level ||
    a.rule !== b.rule ||
    a.quantum.status !== b.quantum.status ||
    a.classical.status !== b.classical.status ||
    a.deadline !== b.deadline ||
    a.family !== b.family ||
    a.bits !== b.bits
  );
}

/** RuleTrial classifies assets under proposed rules and reports what would change. Nothing is stored. */
@Injectable()
export class RuleTrial {
  constructor(private readonly db: DataSource) {}

  async run(rules: RuleSet): Promise<RuleTrialResult> {
    const engine = new RiskEngine(rules);
    const pairs: VerdictPair[] = [];
    for (let after = NIL_ID; ;) {
      const rows: { id: string; subject: RiskSubject; verdict: RiskVerdict }[] = await this.db.query(
        'SELECT id, subject, verdict FROM risk_verdict WHERE id > $1 ORDER BY id LIMIT $2',
        [after, PAGE],
      );
      for (const { id, subject, verdict } of rows) {
        const next = engine.judge(subject);
        if (differs(verdict, next)) pairs.push({ id, before: verdict, after: next });
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) break;
      after = last.id;
      await turn();
    }
    return this.count(pairs);
  }

  private async count(pairs: readonly VerdictPair[]): Promise<RuleTrialResult> {
    const rows: { id: string; count: number }[] = await this.db.query(
      'SELECT verdict_id AS id, count(*)::int AS count FROM asset WHERE verdict_id = ANY($1::uuid[]) GROUP BY verdict_id',
      [pairs.map(({ id }) => id)],
    );
    const counts = new Map(rows.map(({ id, count }) => [id, count]));
    const [before, after] = [noLevels(), noLevels()];
    const examples: TrialExample[] = [];
    for (const pair of pairs) {
      const assets = counts.get(pair.id) ?? 0;
      if (assets === 0) continue;
      before[pair.before.level] += assets;
      after[pair.after.level] += assets;
      const of = ({ level, rule }: RiskVerdict) => ({ level, rule });
      examples.push({
        verdictId: pair.id,
        family: pair.after.family,
        before: of(pair.before),
        after: of(pair.after),
        assets,
      });
    }
    examples.sort((a, b) => b.assets - a.assets);
    const changedAssets = examples.reduce((sum, { assets }) => sum + assets, 0);
    return { changedAssets, before, after, examples: examples.slice(0, MAX_EXAMPLES) };
  }
}

function noLevels(): Record<Level, number> {
  return Object.fromEntries(LEVELS.map((level) => [level, 0])) as Record<Level, number>;
}
