import { LEVELS, type Level } from './risk-verdict.js';
import type { Count } from './tally.js';

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
