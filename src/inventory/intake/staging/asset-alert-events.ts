import type { EntityManager } from 'typeorm';
import { type AlertEvent, recordAlertEvents } from '../../../platform/events/alert-events.js';
import type { NewAssets } from './new-assets.js';
import type { Succession } from './successions.js';

interface LevelRow {
  readonly level: number;
  readonly count: number;
  readonly names: string[];
}

interface RecordedChanges {
  readonly created: NewAssets;
  /** Number of assets in `stage_changed`. The table exists only if the number is not 0. */
  readonly changed: number;
  readonly successions: readonly Succession[];
}

const MAX_NAMES = 3;

/**
 * recordAssetEvents records one alert event about new assets, and one alert event about assets whose risk level changed, each with the number of assets at each
 * level. An asset that replaces another asset does not count as new. The asset counts as changed if its level differs from the level of the replaced asset.
 *
 * @param why reason for the change; undefined for a document with new content
 */
export async function recordAssetEvents(
  tx: EntityManager,
  source: { id: string; name: string },
  { created, changed, successions }: RecordedChanges,
  why?: string,
): Promise<void> {
  const judged = changed === 0 ? [] : await levelChanges(tx);
  const moved = [...judged, ...byLevel(successions)].sort((a, b) => b.level - a.level);
  const found = created.levels(successions.flatMap(({ ids }) => ids)).sort((a, b) => b.level - a.level);
  const events: AlertEvent[] = [];
  if (found.length > 0) events.push(eventOf('asset.found', found, source));
  if (moved.length > 0) events.push(eventOf('asset.risk-changed', moved, source, why));
  await recordAlertEvents(tx, events);
}

/** Returns the assets in `stage_changed` whose current level differs from the level before the change. */
function levelChanges(tx: EntityManager): Promise<LevelRow[]> {
  return tx.query(
    `SELECT coalesce(a.level, 0) AS level, count(*)::int AS count, (array_agg(a.name ORDER BY a.name))[1:${MAX_NAMES}] AS names
     FROM judged_asset a JOIN stage_changed b ON b.id = a.id WHERE a.kind <> 'component' AND a.level IS DISTINCT FROM b.level
     GROUP BY 1 ORDER BY 1 DESC`,
  );
}

/** Returns the successions in which the level of the new asset differs from the level of the replaced asset. */
function byLevel(successions: readonly Succession[]): LevelRow[] {
  const changed = successions.filter(({ level, formerLevel }) => level !== formerLevel);
  return changed.map(({ level, name }) => ({ level, count: 1, names: [name] }));
}

function eventOf(
  type: 'asset.found' | 'asset.risk-changed',
  levels: readonly LevelRow[],
  source: { id: string; name: string },
  why?: string,
): AlertEvent {
  const examples = levels.flatMap(({ names }) => names).slice(0, MAX_NAMES);
  return {
    type,
    subject: { kind: 'source', id: source.id, name: source.name },
    count: levels.reduce((sum, { count }) => sum + count, 0),
    facts: {
      ...countsOf(levels),
      examples,
      ...(why === undefined ? {} : { why }),
    },
  };
}

function countsOf(levels: readonly LevelRow[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { level, count } of levels) counts[`level${level}`] = (counts[`level${level}`] ?? 0) + count;
  return counts;
}
