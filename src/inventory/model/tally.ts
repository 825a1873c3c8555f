/** SQL: the level and the values by which `inventory_tally` counts an asset. `row` has the columns of `judged_asset`. */
export const tallied = (row: string): string => `
  coalesce(${row}.level, -1) AS level,
  ARRAY['kind', 'state', 'owner', 'quantum', 'family', 'size', 'deadline', 'expiry', 'verdict'] AS dimension,
  ARRAY[${row}.kind, ${row}.state, coalesce(${row}.owner, ''), ${row}.quantum, coalesce(${row}.family, ''), ${row}.family || ' ' || ${row}.bits,
        ${row}.deadline::text, to_char(${row}.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
        CASE WHEN ${row}.state = 'active' THEN ${row}.verdict_id::text END] AS value`;

/** How many active assets each verdict is of, as SQL. */
export const ACTIVE_BY_VERDICT = `
  SELECT value::uuid AS id, sum(count)::int AS count FROM inventory_tally
  WHERE dimension = 'verdict' GROUP BY value HAVING sum(count) > 0`;

/**
 * Adds to the running counts.
 *
 * @param counted rows of `step`, `level`, `dimension` and `value`, as `tallied` answers them.
 * @param slot one of several rows of the same count: transactions that count at the same time take different ones.
 */
export const addToTally = (counted: string, slot = '0'): string => `
  INSERT INTO inventory_tally AS t (dimension, value, level, slot, count)
  SELECT d.dimension, d.value, c.level, ${slot}, sum(c.step)
  FROM (${counted}) c, unnest(c.dimension, c.value) AS d(dimension, value)
  WHERE d.value IS NOT NULL GROUP BY d.dimension, d.value, c.level HAVING sum(c.step) <> 0 ORDER BY 1, 2, 3
  ON CONFLICT (dimension, value, level, slot) DO UPDATE SET count = t.count + excluded.count`;

const ofLevel = (level: number) => `coalesce(sum(c.n) FILTER (WHERE c.level = ${level}), 0)`;

/**
 * Stores how many assets the source $1 shows now; nothing for a source that was deleted.
 *
 * @param counted rows of a level, -1 for what is not judged, and how many assets have it.
 */
export const keepSourceCount = (counted: string): string => `
  INSERT INTO inventory_source_count (source_id, total, levels, unjudged, counted_at)
  SELECT i.id, coalesce(sum(c.n), 0), ARRAY[${[0, 1, 2, 3, 4].map(ofLevel).join(', ')}], ${ofLevel(-1)}, clock_timestamp()
  FROM inventory_source i LEFT JOIN (${counted}) AS c(level, n) ON true WHERE i.id = $1 GROUP BY i.id
  ON CONFLICT (source_id) DO UPDATE SET total = excluded.total, levels = excluded.levels, unjudged = excluded.unjudged,
    counted_at = excluded.counted_at`;

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
