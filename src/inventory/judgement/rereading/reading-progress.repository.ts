import type { EntityManager } from 'typeorm';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { READING_EDITION } from '../risk/reading-edition.js';

/** SourceInWork is a source whose assets are being reread, with the progress so far. */
export interface SourceInWork {
  readonly id: string;
  readonly name: string;
  /** The last asset that was read. */
  readonly after: string;
}

/** SQL over `s`, a source: this edition has read everything up to the last merge, or is reading it. */
const IS_CURRENT = `s.reading = $1 AND s.read_merge IS NOT DISTINCT FROM s.merged_at`;
/** SQL over `s`, a source: it must be reread. Sources read by a newer edition are left to that edition. */
const IS_OUTDATED = `(s.reading IS NULL OR s.reading <= $1) AND (${IS_CURRENT} AND s.read_after IS NULL) IS NOT TRUE`;

/** OUTDATED_SOURCE selects the sources that must be reread. */
export const OUTDATED_SOURCE = `SELECT 1 FROM inventory_source s WHERE ${IS_OUTDATED.replaceAll('$1', String(READING_EDITION))}`;

/**
 * nextOutdated claims the next source that was read by an older edition or by a version without editions, and resumes a source in progress. Returns undefined
 * if there is none.
 */
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
 * noteProgress records the last asset read of a source; undefined means that all were read. Returns false if another process is rereading the source.
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
