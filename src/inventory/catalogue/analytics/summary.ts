import type { Count } from '../../model/tally.js';
import type { InventorySummary } from './inventory-counts.entity.js';

/** Quantum statuses of assets that need no migration. */
const READY = new Set(['pq-standard', 'pq-hybrid', 'unaffected']);
/** Quantum statuses excluded from the readiness share. */
const NO_MATTER = new Set(['not-applicable', 'no-finding']);
/** BURN_DOWN_DAYS lists the dates of most migration deadlines: CNSA 2.0, NIST IR 8547, BSI, EU. */
export const BURN_DOWN_DAYS = ['2030-12-31', '2031-12-31', '2035-12-31'];
const LEVEL_COUNT = 5;

/** summaryOf computes the key figures of the inventory from its counts by dimension. */
export function summaryOf(counts: ReadonlyMap<string, readonly Count[]>, now: Date): InventorySummary {
  const kinds = counts.get('kind') ?? [];
  const quantum = counts.get('quantum') ?? [];
  const today = now.toISOString().slice(0, 10);
  const deadlines = counts.get('deadline') ?? [];
  return {
    total: sumOf(kinds),
    levels: Array.from({ length: LEVEL_COUNT }, (_, level) =>
      kinds.reduce((sum, { levels }) => sum + (levels[level] ?? 0), 0),
    ),
    unjudged: kinds.reduce((sum, { unjudged }) => sum + unjudged, 0),
    readiness: readinessOf(quantum),
    unknown: unknownOf(quantum),
    expired: sumOf((counts.get('expiry') ?? []).filter(({ value }) => value < today)),
    due: Object.fromEntries(BURN_DOWN_DAYS.map((day) => [day, sumOf(deadlines.filter(({ value }) => value <= day))])),
  };
}

/** readinessOf returns the share of quantum-relevant assets that need no migration, or null if there are no quantum-relevant assets. */
export function readinessOf(quantum: readonly Count[]): number | null {
  const matters = sumOf(quantum.filter(({ value }) => !NO_MATTER.has(value)));
  return matters === 0 ? null : sumOf(quantum.filter(({ value }) => READY.has(value))) / matters;
}

/** unknownOf returns the share of classified assets whose quantum status is unknown, or null if no asset is classified. */
export function unknownOf(quantum: readonly Count[]): number | null {
  const judged = sumOf(quantum);
  return judged === 0 ? null : sumOf(quantum.filter(({ value }) => value === 'unknown')) / judged;
}

export function sumOf(counts: readonly Count[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}
