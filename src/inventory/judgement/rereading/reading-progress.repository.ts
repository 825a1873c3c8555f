import type { EntityManager } from 'typeorm';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { READING_EDITION } from '../risk/reading-edition.js';

/** SourceInWork is a source whose assets are being reread, and the progress. */
export interface SourceInWork {
  readonly id: string;
  readonly name: string;
  /** The last asset that was read. */
  readonly after: string;
}

/** SQL condition over source `s`: this edition has read all assets up to the last merge, or is reading them. */
const IS_CURRENT = `s.reading = $1 AND s.read_merge IS NOT DISTINCT FROM s.merged_at`;
/** SQL condition over source `s`: the source must be reread. Sources that were read by a newer edition are excluded. */
const IS_OUTDATED = `(s.reading IS NULL OR s.reading <= $1) AND (${IS_CURRENT} AND s.read_after IS NULL) IS NOT TRUE`;

/** OUTDATED_SOURCE selects the sources that must be reread. */
export const OUTDATED_SOURCE = `SELECT 1 FROM inventory_source s WHERE ${IS_OUTDATED.replaceAll('$1', String(READING_EDITION))}`;

/** nextOutdated claims the next source that must be reread or was only partly reread. Returns undefined if no source must be reread. */
export async function nextOutdated(tx: EntityManager): Promise<SourceInWork | undefined> {
  const [rows] = (await tx.query(
    `UPDATE inventory_source s SET reading = $1, read_merge = s.merged_at,
       read_after = CASE WHEN ${IS_CURRENT} THEN coalesce(s.read_after, '${NIL_ID}') ELSE '${NIL_ID}' END
     WHERE s.id = (SELECT s.id FROM inventory_source s WHERE ${IS_OUTDATED} ORDER BY s.id LIMIT 1) RETURNING s.id, s.name, s.read_after AS after`,
    [READING_EDITION],
  )) as [SourceInWork[], number];
  return rows[0];
}

/**
 * noteProgress records the last asset of the source that was read. `last` is undefined once all assets have been read. Returns false if another process is
 * rereading the source.
 */
export async function noteProgress(
  tx: EntityManager,
  { id, after }: SourceInWork,
  last: string | undefined,
): Promise<boolean> {
  const [, count] = (await tx.query(
    'UPDATE inventory_source SET read_after = $3 WHERE id = $1 AND reading = $4 AND read_after = $2',
    [id, after, last ?? null, READING_EDITION],
  )) as [unknown[], number];
  return count === 1;
}
