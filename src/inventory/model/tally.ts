/** Of one asset or several alike, as SQL: the level and the values that `inventory_tally` counts it by. `row` has the columns of `judged_asset`. */
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
 * @param slot which of several counts of the same: those who count at the same time take different ones.
 */
export const addToTally = (counted: string, slot = '0'): string => `
  INSERT INTO inventory_tally AS t (dimension, value, level, slot, count)
  SELECT d.dimension, d.value, c.level, ${slot}, sum(c.step)
  FROM (${counted}) c, unnest(c.dimension, c.value) AS d(dimension, value)
  WHERE d.value IS NOT NULL GROUP BY d.dimension, d.value, c.level HAVING sum(c.step) <> 0 ORDER BY 1, 2, 3
  ON CONFLICT (dimension, value, level, slot) DO UPDATE SET count = t.count + excluded.count`;
