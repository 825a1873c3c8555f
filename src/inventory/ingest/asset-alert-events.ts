import type { EntityManager } from 'typeorm';
import { type AlertEvent, AlertEvents } from '../../platform/events/alert-events.js';
import type { NewAssets } from './new-assets.js';

interface LevelRow {
  readonly level: number;
  readonly count: number;
  readonly names: string[];
}

const alertEvents = new AlertEvents();
const MAX_NAMES = 3;

/**
 * Records what a document changed: one alert event about new assets and one about assets whose risk level changed, from the staging
 * tables, each with the number of assets of every level.
 */
export async function recordAssetEvents(
  tx: EntityManager,
  source: { id: string; name: string },
  created: NewAssets,
): Promise<void> {
  const changed: LevelRow[] = await tx.query(
    `SELECT coalesce(a.level, 0) AS level, count(*)::int AS count, (array_agg(a.name ORDER BY a.name))[1:${MAX_NAMES}] AS names
     FROM judged_asset a JOIN stage_changed b ON b.id = a.id WHERE a.kind <> 'component' AND a.level IS DISTINCT FROM b.level
     GROUP BY 1 ORDER BY 1 DESC`,
  );
  const found = created.levels().sort((a, b) => b.level - a.level);
  const events: AlertEvent[] = [];
  if (found.length > 0) events.push(eventOf('asset.found', found, source));
  if (changed.length > 0) events.push(eventOf('asset.risk-changed', changed, source));
  await alertEvents.record(tx, events);
}

function eventOf(
  type: 'asset.found' | 'asset.risk-changed',
  levels: readonly LevelRow[],
  source: { id: string; name: string },
): AlertEvent {
  const examples = levels.flatMap(({ names }) => names).slice(0, MAX_NAMES);
  return {
    type,
    subject: { kind: 'source', id: source.id, name: source.name },
    count: levels.reduce((sum, { count }) => sum + count, 0),
    facts: {
      ...Object.fromEntries(levels.map(({ level, count }) => [`level${level}`, count])),
      examples: examples.join(', '),
    },
  };
}
