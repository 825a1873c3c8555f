/** How many assets have a value, by level: index 0 is NONE, 4 is CRITICAL. */
export interface Count {
  readonly value: string;
  readonly count: number;
  readonly levels: number[];
  readonly unjudged: number;
}

export interface TallyRow {
  readonly value: string;
  readonly level: number;
  readonly count: string;
}

/** Rows that are sorted by value. */
export function countsOf(rows: readonly TallyRow[]): Count[] {
  const counts = new Map<string, Count>();
  for (const { value, level, count } of rows) {
    const known = counts.get(value) ?? { value, count: 0, levels: [0, 0, 0, 0, 0], unjudged: 0 };
    const levels = known.levels.map((number, index) => (index === level ? number + Number(count) : number));
    const unjudged = known.unjudged + (level < 0 ? Number(count) : 0);
    counts.set(value, { value, count: known.count + Number(count), levels, unjudged });
  }
  return [...counts.values()];
}
