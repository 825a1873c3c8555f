import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../platform/time/clock.js';
import { conditionsOf } from '../assets/asset-filter.js';
import { algorithmKey, opinionsOn, type Stance, STANCES } from '../risk/jurisdictions.js';
import type { RiskEngine } from '../risk/risk-engine.js';
import type { Ingredient, RiskSubject } from '../risk/risk-subject.js';
import { RuleBook } from '../risk/rule-book.js';
import type { RequirementResult } from './attestation.entity.js';
import type { PolicyCheck, PolicyPack, PolicyRequirement } from './policy-pack.js';

const MOST_EXAMPLES = 10;

export interface Evaluation {
  readonly results: RequirementResult[];
  /** Mean over the requirements that were judged; 0 when none was. */
  readonly score: number;
}

/** What a person says of a requirement that no query can check. */
export interface Review {
  readonly identifier: string;
  readonly score: number;
  readonly rationale: string;
}

export interface EvaluationOrder {
  readonly pack: PolicyPack;
  /** A query; all active assets without. */
  readonly scope?: string;
  readonly day: string;
  readonly reviews: readonly Review[];
}

type Found = Pick<RequirementResult, 'assets' | 'violations' | 'examples'>;

/** Holds the inventory against a policy pack. */
@Injectable()
export class PolicyEvaluator {
  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
    private readonly clock: Clock,
  ) {}

  /** @throws Problem 400 `query.invalid`. */
  async evaluate(order: EvaluationOrder): Promise<Evaluation> {
    const results: RequirementResult[] = [];
    for (const requirement of order.pack.requirements) results.push(await this.result(requirement, order));
    const scores = results.flatMap(({ score }) => (score === null ? [] : [score]));
    const score = scores.length === 0 ? 0 : scores.reduce((sum, one) => sum + one, 0) / scores.length;
    return { results, score };
  }

  private async result({ identifier, check }: PolicyRequirement, order: EvaluationOrder): Promise<RequirementResult> {
    if (check.kind === 'review') {
      const review = order.reviews.find((one) => one.identifier === identifier);
      const score = review?.score ?? null;
      const rationale = review?.rationale ?? 'A person has yet to judge it.';
      return { identifier, assets: 0, violations: 0, examples: [], score, rationale };
    }
    const found = check.kind === 'query' ? await this.byQuery(check.q, order.scope) : await this.byStance(check, order);
    const { assets, violations } = found;
    const score = assets === 0 ? 1 : (assets - violations) / assets;
    return { identifier, ...found, score, rationale: `${violations} of ${assets} assets violate it.` };
  }

  private async byQuery(q: string, scope: string | undefined): Promise<Found> {
    const all = this.conditions(scope);
    const bad = this.conditions(scope === undefined ? q : `(${scope}) and (${q})`);
    const [total] = (await this.db.query(
      `SELECT count(*)::int AS count FROM judged_asset a WHERE ${all.where.join(' AND ')}`,
      all.values,
    )) as { count: number }[];
    return { assets: total?.count ?? 0, ...(await this.violations(bad)) };
  }

  private async byStance(
    check: Extract<PolicyCheck, { kind: 'stance' }>,
    { day, scope }: EvaluationOrder,
  ): Promise<Found> {
    const { engine } = await this.book.engineNow();
    const rows: { id: string; subject: RiskSubject }[] = await this.db.query('SELECT id, subject FROM risk_verdict');
    const known = new Map<string, Stance>();
    const concerned: string[] = [];
    const bad: string[] = [];
    for (const { id, subject } of rows) {
      const stances = subject.ingredients
        .filter(({ purpose }) => check.purposes === undefined || check.purposes.includes(purpose))
        .map((ingredient) => stanceOn(ingredient, { day, engine, jurisdiction: check.jurisdiction }, known));
      if (stances.some((stance) => stance !== 'SILENT')) concerned.push(id);
      if (stances.some((stance) => STANCES.indexOf(stance) >= STANCES.indexOf(check.limit))) bad.push(id);
    }
    const within = ({ where, values }: Conditions, ids: string[]): Conditions => ({
      where: [...where, `a.verdict_id = ANY($${values.length + 1}::uuid[])`],
      values: [...values, ids],
    });
    const { where, values } = within(this.conditions(scope), concerned);
    const [total] = (await this.db.query(
      `SELECT count(*)::int AS count FROM judged_asset a WHERE ${where.join(' AND ')}`,
      values,
    )) as { count: number }[];
    return { assets: total?.count ?? 0, ...(await this.violations(within(this.conditions(scope), bad))) };
  }

  private async violations({ where, values }: Conditions): Promise<Omit<Found, 'assets'>> {
    const [row] = (await this.db.query(
      `SELECT count(*)::int AS violations, (array_agg(a.id ORDER BY a.id))[1:${MOST_EXAMPLES}] AS examples
       FROM judged_asset a WHERE ${where.join(' AND ')}`,
      values,
    )) as { violations: number; examples: string[] | null }[];
    return { violations: row?.violations ?? 0, examples: row?.examples ?? [] };
  }

  /** Active assets with cryptography of their own, within the scope. */
  private conditions(q: string | undefined): Conditions {
    const { where, values } = conditionsOf(
      { state: 'active', ...(q === undefined ? {} : { q }) },
      'a',
      this.clock.now(),
    );
    return { where: [...where, 'a.level IS NOT NULL'], values };
  }
}

interface Conditions {
  readonly where: string[];
  readonly values: unknown[];
}

function stanceOn(
  ingredient: Ingredient,
  { day, engine, jurisdiction }: { day: string; engine: RiskEngine; jurisdiction: string },
  known: Map<string, Stance>,
): Stance {
  const key = algorithmKey(ingredient) + JSON.stringify(ingredient);
  const stance =
    known.get(key) ??
    opinionsOn(ingredient, day, engine).find((one) => one.jurisdiction === jurisdiction)?.stance ??
    'SILENT';
  known.set(key, stance);
  return stance;
}
