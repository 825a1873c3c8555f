import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import type { Count } from '../../model/tally.js';
import { readinessOf, sumOf, unknownOf } from './summary.js';
import { LEVELS, type Level } from '../../model/risk-verdict.js';

export class LevelCountsView implements Record<Level, number> {
  /** @example 57 */
  NONE: number;
  /** @example 20 */
  LOW: number;
  /** @example 8 */
  MEDIUM: number;
  /** @example 12 */
  HIGH: number;
  /** @example 3 */
  CRITICAL: number;

  static of(counts: readonly Count[]): LevelCountsView {
    const sum = (level: Level) => counts.reduce((total, { levels }) => total + (levels[LEVELS.indexOf(level)] ?? 0), 0);
    return { NONE: sum('NONE'), LOW: sum('LOW'), MEDIUM: sum('MEDIUM'), HIGH: sum('HIGH'), CRITICAL: sum('CRITICAL') };
  }
}

export class ExpiryQuery {
  /** Number of days to include, starting today. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(3660) days?: number = 365;
}

export class CountView {
  /** @example RSA */
  value: string;
  /** @example 12 */
  count: number;
  levels: LevelCountsView;
  /** Number of assets without a verdict, such as components that do not use cryptography directly. @example 0 */
  unjudged: number;

  static of(count: Count): CountView {
    return viewOf(CountView, count, { levels: LevelCountsView.of([count]) });
  }
}

export class CountsView {
  items: CountView[];

  static of(counts: readonly Count[]): CountsView {
    return { items: counts.map((count) => CountView.of(count)) };
  }
}

export class SummaryView {
  /** @example 100 */
  total: number;
  levels: LevelCountsView;
  kinds: CountView[];
  states: CountView[];
  quantum: CountView[];
  /** Share of quantum-relevant assets that need no migration, from 0 to 1; null if there are no quantum-relevant assets. @example 0.57 */
  readiness: number | null;
  /** Share of classified assets whose quantum status is unknown, from 0 to 1; null if no asset is classified. @example 1 */
  unknown: number | null;
  /** Number of expired certificates and keys. @example 2 */
  expired: number;

  static of(counts: { kinds: Count[]; states: Count[]; quantum: Count[]; expired: number }): SummaryView {
    const { kinds, states, quantum, expired } = counts;
    const views = (list: readonly Count[]) => list.map((count) => CountView.of(count));
    return {
      total: sumOf(kinds),
      levels: LevelCountsView.of(kinds),
      kinds: views(kinds),
      states: views(states),
      quantum: views(quantum),
      readiness: readinessOf(quantum),
      unknown: unknownOf(quantum),
      expired,
    };
  }
}
