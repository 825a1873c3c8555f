import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { missing } from '../../../platform/errors/problem.js';
import { ACTIVE_BY_VERDICT } from '../../model/tally.js';
import {
  algorithmKey,
  isConflict,
  objects,
  type Opinion,
  opinionsOn,
  type Target,
  targetsOn,
} from '../../judgement/risk/jurisdictions.js';
import { labelOf, type RiskEngine } from '../../judgement/risk/risk-engine.js';
import type { AlgorithmUse, RiskSubject } from '../../model/risk-subject.js';
import { RuleBook } from '../../judgement/risk/rule-book.js';

/**
 * MAX_ROWS is the maximum number of returned rows. The algorithms with the most assets are returned. An inventory contains at most a few hundred algorithms.
 */
const MAX_ROWS = 500;

/** Stand contains the asset count for one algorithm and purpose, and the positions of all authorities on the algorithm. */
export interface Stand {
  readonly algorithm: string;
  readonly family: string;
  readonly purpose: AlgorithmUse['purpose'];
  readonly assets: number;
  readonly opinions: Opinion[];
}

export interface Conflict extends Stand {
  /** Possible replacements, in ascending order of objections. */
  readonly targets: Target[];
}

/** JurisdictionsReader compares the authorities' positions on the algorithms in the inventory. */
@Injectable()
export class JurisdictionsReader {
  constructor(
    private readonly db: DataSource,
    private readonly book: RuleBook,
  ) {}

  async matrix(day: string): Promise<Stand[]> {
    const { engine } = await this.book.engineNow();
    return this.stands(day, engine);
  }

  /** Returns the algorithms that one authority recommends and another authority objects to. */
  async conflicts(day: string): Promise<Conflict[]> {
    const { engine } = await this.book.engineNow();
    const stands = await this.stands(day, engine);
    return stands
      .filter(({ opinions }) => isConflict(opinions))
      .map((stand) => ({ ...stand, targets: targetsOn(stand.purpose, day, engine) }));
  }

  /** @throws Problem 404 `asset.missing`. */
  async ofAsset(id: string, day: string): Promise<Stand[]> {
    const { engine } = await this.book.engineNow();
    const [row] = (await this.db.query(
      'SELECT v.subject FROM asset a LEFT JOIN risk_verdict v ON v.id = a.verdict_id WHERE a.id = $1',
      [id],
    )) as { subject: RiskSubject | null }[];
    if (row === undefined) throw missing('asset');
    return (row.subject?.ingredients ?? []).map((ingredient) => standOf(ingredient, 1, day, engine));
  }

  private async stands(day: string, engine: RiskEngine): Promise<Stand[]> {
    const rows: { subject: RiskSubject; assets: number }[] = await this.db.query(
      `SELECT v.subject, c.count AS assets FROM (${ACTIVE_BY_VERDICT}) c JOIN risk_verdict v USING (id)`,
    );
    const found = new Map<string, { ingredient: AlgorithmUse; assets: number }>();
    for (const { subject, assets } of rows)
      for (const ingredient of subject.ingredients) {
        const key = algorithmKey(ingredient);
        const known = found.get(key);
        if (known === undefined) found.set(key, { ingredient, assets });
        else known.assets += assets;
      }
    return [...found.values()]
      .sort((a, b) => b.assets - a.assets)
      .slice(0, MAX_ROWS)
      .map(({ ingredient, assets }) => standOf(ingredient, assets, day, engine));
  }
}

function standOf(ingredient: AlgorithmUse, assets: number, day: string, engine: RiskEngine): Stand {
  const { family, purpose, hybrid } = ingredient;
  const opinions = opinionsOn(ingredient, day, engine);
  return { algorithm: labelOf(ingredient), family: hybrid ?? family, purpose, assets, opinions };
}

/** sidesOf returns the opinions in favour of an algorithm, and the opinions against the algorithm. */
export function sidesOf(opinions: readonly Opinion[]): { favour: Opinion[]; against: Opinion[] } {
  return { favour: opinions.filter(({ stance }) => stance === 'FAVOURS'), against: opinions.filter(objects) };
}
