import type { CountView } from '../../api/generated/types.gen.js';

const WEIGHTS = { CRITICAL: 1e12, HIGH: 1e8, MEDIUM: 1e4, LOW: 1, NONE: 0 } as const;

/** worstFirst returns the `most` values with the highest risk. Critical assets weigh most. */
export function worstFirst(items: readonly CountView[], most: number): CountView[] {
  const weight = ({ levels }: CountView) =>
    Object.entries(WEIGHTS).reduce((sum, [level, factor]) => sum + levels[level as keyof typeof WEIGHTS] * factor, 0);
  return items
    .filter(({ value }) => value !== '')
    .sort((a, b) => weight(b) - weight(a) || b.count - a.count)
    .slice(0, most);
}

export interface HeatCells {
  readonly families: string[];
  readonly sizes: number[];
  /** Index of the size, index of the family, number of assets. */
  readonly cells: [number, number, number][];
}

/** heatCells groups values such as `RSA 2048` by family and size. It returns the eight families with the most assets. */
export function heatCells(items: readonly CountView[]): HeatCells {
  const parts = items.map(({ value, count }) => {
    const cut = value.lastIndexOf(' ');
    return { family: value.slice(0, cut), bits: Number(value.slice(cut + 1)), count };
  });
  const totals = new Map<string, number>();
  for (const { family, count } of parts) totals.set(family, (totals.get(family) ?? 0) + count);
  const families = [...totals]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 8)
    .map(([family]) => family)
    .reverse();
  const known = parts.filter(({ family }) => families.includes(family));
  const sizes = [...new Set(known.map(({ bits }) => bits))].sort((a, b) => a - b);
  const cells = known.map(({ family, bits, count }): [number, number, number] => [
    sizes.indexOf(bits),
    families.indexOf(family),
    count,
  ]);
  return { families, sizes, cells };
}

export interface BurnDownStep {
  readonly date: string;
  /** Assets whose deadline is this day. */
  readonly due: number;
  /** Assets with a later deadline. */
  readonly left: number;
}

/** burnDown returns the number of due and remaining assets for each future deadline. */
export function burnDown(items: readonly CountView[], today = new Date()): BurnDownStep[] {
  const sorted = [...items].sort((a, b) => a.value.localeCompare(b.value));
  let left = sorted.reduce((sum, { count }) => sum + count, 0);
  const first = sorted[0]?.value;
  if (first === undefined) return [];
  const start = [today.toISOString().slice(0, 10), first].sort()[0] ?? first;
  const steps = sorted.map(({ value, count }) => {
    left -= count;
    return { date: value, due: count, left };
  });
  return [{ date: start, due: 0, left: steps.reduce((sum, { due }) => sum + due, 0) }, ...steps];
}

/** byMonth sums daily counts for each of the twelve months starting with the current one, including months without counts. */
export function byMonth(items: readonly CountView[], today: Date): CountView[] {
  return Array.from({ length: 12 }, (_, index) => {
    const value = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + index, 1)).toISOString().slice(0, 7);
    const days = items.filter((item) => item.value.startsWith(value));
    const sum = (pick: (item: CountView) => number) => days.reduce((total, item) => total + pick(item), 0);
    return {
      value,
      count: sum(({ count }) => count),
      unjudged: sum(({ unjudged }) => unjudged),
      levels: {
        NONE: sum(({ levels }) => levels.NONE),
        LOW: sum(({ levels }) => levels.LOW),
        MEDIUM: sum(({ levels }) => levels.MEDIUM),
        HIGH: sum(({ levels }) => levels.HIGH),
        CRITICAL: sum(({ levels }) => levels.CRITICAL),
      },
    };
  });
}

/** quantile returns the smallest value that is not exceeded by the given share of all values (nearest rank). */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
