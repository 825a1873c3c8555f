import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../../platform/work/clock.js';
import { type Conditions, conditionsOf } from '../../catalogue/assets/asset-filter.js';
import { ACTIVE_BY_VERDICT } from '../../model/tally.js';
import { type Opinion, opinionsOn, STANCES, worse } from '../../judgement/risk/jurisdictions.js';
import type { RiskEngine } from '../../judgement/risk/risk-engine.js';
import type { AlgorithmUse, RiskSubject } from '../../model/risk-subject.js';
import { RuleBook } from '../../judgement/risk/rule-book.js';
import { cryptoUseOf } from '../../judgement/names/crypto-use.js';
import type { RequirementResult } from './attestation.entity.js';
import type { PolicyPack, PolicyRequirement, QueryCheck, StanceCheck } from './policy-pack.js';

const MAX_EXAMPLES = 10;

export interface Evaluation {
  readonly results: RequirementResult[];
  /** Mean score of the assessed requirements; 0 if no requirement is assessed. */
  readonly score: number;
}

/** Review is a manual assessment of a requirement. */
export interface Review {
  readonly identifier: string;
  readonly score: number;
  readonly rationale: string;
}

export interface EvaluationOrder {
  readonly pack: PolicyPack;
  /** Query that selects the assets; undefined for all active assets. */
  readonly scope?: string;
  readonly day: string;
  readonly reviews: readonly Review[];
}

type Found = Pick<RequirementResult, 'assets' | 'violations' | 'examples' | 'acceptedUntil'>;

/** PolicyEvaluator evaluates policy packs against the inventory. */
@Injectable()
export class PolicyEvaluator {
  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
    private readonly clock: Clock,
  ) {}

  /** @throws Problem 400 `query.invalid`. */
  async evaluate(order: EvaluationOrder): Promise<Evaluation> {
    const { requirements } = order.pack;
    const isByStance = requirements.some(({ check }) => check.kind === 'stance');
    const subjects = isByStance ? await this.subjects(order.scope) : [];
    const results: RequirementResult[] = [];
    for (const requirement of requirements) results.push(await this.result(requirement, order, subjects));
    const scores = results.flatMap(({ score }) => (score === null ? [] : [score]));
    const score = scores.length === 0 ? 0 : scores.reduce((sum, one) => sum + one, 0) / scores.length;
    return { results, score };
  }

  private async result(
    { identifier, check }: PolicyRequirement,
    order: EvaluationOrder,
    subjects: readonly SubjectCount[],
  ): Promise<RequirementResult> {
    if (check.kind === 'review') {
      const review = order.reviews.find((one) => one.identifier === identifier);
      const score = review?.score ?? null;
      const rationale = review?.rationale ?? 'Not assessed yet.';
      return { identifier, assets: 0, violations: 0, examples: [], score, rationale };
    }
    const found =
      check.kind === 'query' ? await this.byQuery(check, order.scope) : await this.byStance(check, order, subjects);
    const { assets, violations } = found;
    const score = assets === 0 ? 1 : (assets - violations) / assets;
    return { identifier, ...found, score, rationale: rationaleOf(found) };
  }

  private async byQuery({ q, among }: QueryCheck, scope: string | undefined): Promise<Found> {
    const concerned = await this.byVerdict(scope, among);
    const violating = this.conditions(scope, among, q);
    const bad = await this.counts(violating);
    return { assets: sum(concerned), violations: sum(bad), examples: await this.examples(bad, violating) };
  }

  private async byStance(
    check: StanceCheck,
    { day, scope }: EvaluationOrder,
    subjects: readonly SubjectCount[],
  ): Promise<Found> {
    const { engine } = await this.book.engineNow();
    const worst = new WorstOpinions(check, day, engine);
    const concerned = subjects.flatMap(({ id, count, subject }) => {
      const opinion = worst.of(subject);
      return opinion === undefined ? [] : [{ id, count, ...opinion }];
    });
    const limit = STANCES.indexOf(check.limit);
    const bad = concerned.filter(({ stance }) => STANCES.indexOf(stance) >= limit);
    const temporary = concerned.filter(({ stance }) => stance === 'ACCEPTS_UNTIL');
    const first = temporary.flatMap(({ date }) => date ?? []).toSorted()[0];
    return {
      assets: sum(concerned),
      violations: sum(bad),
      examples: await this.examples(bad, this.conditions(scope)),
      ...(first === undefined ? {} : { acceptedUntil: { assets: sum(temporary), first } }),
    };
  }

  /** Returns the facts about the assets in scope, with the number of assets. The facts are read once for all requirements. */
  private async subjects(scope: string | undefined): Promise<SubjectCount[]> {
    const counts = new Map((await this.byVerdict(scope)).map(({ id, count }) => [id, count]));
    const rows: { id: string; subject: RiskSubject }[] = await this.db.query(
      'SELECT id, subject FROM risk_verdict WHERE id = ANY($1)',
      [[...counts.keys()]],
    );
    return rows.map((row) => ({ ...row, count: counts.get(row.id) ?? 0 }));
  }

  /** Counts active assets by verdict. For the whole inventory, reads the running counts. */
  private byVerdict(...queries: readonly (string | undefined)[]): Promise<VerdictCount[]> {
    return queries.every((q) => q === undefined)
      ? this.db.query(ACTIVE_BY_VERDICT)
      : this.counts(this.conditions(...queries));
  }

  private counts({ where, values }: Conditions): Promise<VerdictCount[]> {
    return this.db.query(
      `SELECT a.verdict_id AS id, count(*)::int AS count FROM judged_asset a WHERE ${where.join(' AND ')} GROUP BY 1`,
      values,
    );
  }

  /** Returns a few violating assets. The assets are read verdict by verdict, so that not all matches must be collected and sorted. */
  private async examples(bad: readonly VerdictCount[], { where, values }: Conditions): Promise<string[]> {
    const rows: { id: string }[] = await this.db.query(
      `SELECT e.id FROM unnest($${values.length + 1}::uuid[]) AS b(id) CROSS JOIN LATERAL (
         SELECT a.id FROM judged_asset a WHERE a.verdict_id = b.id AND ${where.join(' AND ')} LIMIT ${MAX_EXAMPLES}) e
       LIMIT ${MAX_EXAMPLES}`,
      [...values, bad.map(({ id }) => id)],
    );
    return rows.map(({ id }) => id).toSorted();
  }

  /** Returns the conditions for active assets that use cryptography themselves and match all queries. */
  private conditions(...queries: readonly (string | undefined)[]): Conditions {
    const q = queries.filter((one) => one !== undefined);
    const { where, values } = conditionsOf({ state: 'active', q }, 'a', this.clock.now());
    return { where: [...where, 'a.level IS NOT NULL'], values };
  }
}

/** VerdictCount is the number of assets with a verdict. */
interface VerdictCount {
  readonly id: string;
  readonly count: number;
}

/** SubjectCount adds the facts to which the verdict applies. */
interface SubjectCount extends VerdictCount {
  readonly subject: RiskSubject;
}

const sum = (counts: readonly VerdictCount[]) => counts.reduce((all, { count }) => all + count, 0);

function rationaleOf({ assets, violations, acceptedUntil }: Found): string {
  const violated = `${violations} of ${assets} assets violate the requirement.`;
  if (acceptedUntil === undefined) return violated;
  return `${violated} Assets accepted only temporarily: ${acceptedUntil.assets}, the first until ${acceptedUntil.first}.`;
}

/** WorstOpinions finds an authority's worst position on the algorithms in each set of facts to which a requirement applies. */
class WorstOpinions {
  private readonly known = new Map<string, Opinion | undefined>();

  constructor(
    private readonly check: StanceCheck,
    private readonly day: string,
    private readonly engine: RiskEngine,
  ) {}

  /** Returns the worst opinion of the authority on the algorithms, or undefined if the authority has no position on any of the algorithms. */
  of({ ingredients }: RiskSubject): Opinion | undefined {
    const { uses } = this.check;
    return ingredients
      .filter((ingredient) => uses === undefined || uses.includes(cryptoUseOf(ingredient)))
      .flatMap((ingredient) => this.on(ingredient) ?? [])
      .reduce<Opinion | undefined>((a, b) => (a === undefined ? b : worse(a, b)), undefined);
  }

  private on(ingredient: AlgorithmUse): Opinion | undefined {
    const key = JSON.stringify(ingredient);
    if (!this.known.has(key)) {
      const opinion = opinionsOn(ingredient, this.day, this.engine).find(
        ({ jurisdiction }) => jurisdiction === this.check.jurisdiction,
      );
      this.known.set(key, opinion?.stance === 'SILENT' ? undefined : opinion);
    }
    return this.known.get(key);
  }
}
