const ofLevel = (level: number) => `coalesce(sum(c.n) FILTER (WHERE c.level = ${level}), 0)`;

/**
 * Keeps how many assets the source $1 shows now; nothing of a source that is gone.
 *
 * @param counted rows of a level, -1 for what is not judged, and how many assets have it.
 */
export const keepSourceCount = (counted: string): string => `
  INSERT INTO inventory_source_count (source_id, total, levels, unjudged, counted_at)
  SELECT i.id, coalesce(sum(c.n), 0), ARRAY[${[0, 1, 2, 3, 4].map(ofLevel).join(', ')}], ${ofLevel(-1)}, clock_timestamp()
  FROM inventory_source i LEFT JOIN (${counted}) AS c(level, n) ON true WHERE i.id = $1 GROUP BY i.id
  ON CONFLICT (source_id) DO UPDATE SET total = excluded.total, levels = excluded.levels, unjudged = excluded.unjudged,
    counted_at = excluded.counted_at`;
