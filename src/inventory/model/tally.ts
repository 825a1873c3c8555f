/**
 * tallied returns SQL for the level and the values by which `inventory_tally` counts an asset. `row` is an alias with the columns of `judged_asset`.
 */
export const tallied = (row: string): string => `
  coalesce(${row}.level, -1) AS level,
  ARRAY['kind', 'state', 'owner', 'quantum', 'family', 'size', 'deadline', 'expiry', 'verdict'] AS dimension,
  ARRAY[${row}.kind, ${row}.state, coalesce(${row}.owner, ''), ${row}.quantum, coalesce(${row}.family, ''), ${row}.family || ' ' || ${row}.bits,
        ${row}.deadline::text, to_char(${row}.not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
        CASE WHEN ${row}.state = 'active' THEN ${row}.verdict_id::text END] AS value`;

/** ACTIVE_BY_VERDICT is SQL for the number of active assets with each verdict. */
export const ACTIVE_BY_VERDICT = `
  SELECT value::uuid AS id, sum(count)::int AS count FROM inventory_tally
  WHERE dimension = 'verdict' GROUP BY value HAVING sum(count) > 0`;

/**
 * addToTally returns SQL that adds to the running counts.
 *
 * @param counted SQL for rows of `step`, `level`, `dimension` and `value`, as returned by `tallied`.
 * @param slot one of several rows for the same count. Concurrent transactions use different slots.
 */
export const addToTally = (counted: string, slot = '0'): string => `
  INSERT INTO inventory_tally AS t (dimension, value, level, slot, count)
  SELECT d.dimension, d.value, c.level, ${slot}, sum(c.step)
  FROM (${counted}) c, unnest(c.dimension, c.value) AS d(dimension, value)
  WHERE d.value IS NOT NULL GROUP BY d.dimension, d.value, c.level HAVING sum(c.step) <> 0 ORDER BY 1, 2, 3
  ON CONFLICT (dimension, value, level, slot) DO UPDATE SET count = t.count + excluded.count`;

const ofLevel = (level: number) => `coalesce(sum(c.n) FILTER (WHERE c.level = ${level}), 0)`;

/**
 * keepSourceCount returns SQL that stores the current number of assets of the source $1. Stores nothing if the source has been deleted.
 *
 * @param counted rows of a level (-1 for assets without a verdict) and its number of assets.
 */
export const keepSourceCount = (counted: string): string => `
  INSERT INTO inventory_source_count (source_id, total, levels, unjudged, counted_at)
  SELECT i.id, coalesce(sum(c.n), 0), ARRAY[${[0, 1, 2, 3, 4].map(ofLevel).join(', ')}], ${ofLevel(-1)}, clock_timestamp()
  FROM inventory_source i LEFT JOIN (${counted}) AS c(level, n) ON true WHERE i.id = $1 GROUP BY i.id
  ON CONFLICT (source_id) DO UPDATE SET total = excluded.total, levels = excluded.levels, unjudged = excluded.unjudged,
    counted_at = excluded.counted_at`;

/** Count is the number of assets with a value, by level from NONE (index 0) to CRITICAL (index 4). */
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

/** countsOf groups rows that are sorted by value. */
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
