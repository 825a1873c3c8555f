import type { CopyQuery } from './snapshot.js';

/** Which assets are shown: conditions on the table `a`, and their values. */
export interface Shown {
  readonly where: readonly string[];
  readonly values: unknown[];
  /** true: every active asset, and nothing else is asked. */
  readonly isEverything: boolean;
}

const PLACE = `'{"location":' || to_json(o.location) || coalesce(',"line":' || o.line, '') || coalesce(',"offset":' || o.position, '')
  || coalesce(',"symbol":' || to_json(o.symbol), '') || coalesce(',"additionalContext":' || to_json(o.context), '') || '}'`;
/** Each place once, however many sources show it, in the order of the key: nothing is sorted. */
const PLACES = (condition: string) => `SELECT o.asset_id, string_agg(o.place, ',' ORDER BY o.id) AS list FROM (
    SELECT DISTINCT ON (o.asset_id, o.id) o.asset_id, o.id, ${PLACE} AS place FROM asset_occurrence o
    WHERE ${condition} AND o.missed = 0 AND o.location <> '' ORDER BY o.asset_id, o.id) o GROUP BY o.asset_id`;
const TARGETS = (kind: string) =>
  `string_agg(to_id::text, '","' ORDER BY kind, to_id) FILTER (WHERE kind = '${kind}') AS "${kind}"`;
const MEMBER = (kind: string) => `coalesce(',"${kind}":["' || r."${kind}" || '"]', '')`;

/**
 * One component a row, with a comma before it, in the order of the ids. The stored text of a component is sent as it stands, but for
 * its first brace (`substr` would count its characters). Everything is read side by side in that order; a few assets are looked up
 * one by one.
 */
export function componentsQuery({ where, values, isEverything }: Shown): CopyQuery {
  const places = isEverything
    ? `LEFT JOIN (${PLACES('true')}) e ON e.asset_id = a.id`
    : `LEFT JOIN LATERAL (${PLACES('o.asset_id = a.id')}) e ON true`;
  const text = `SELECT ',{"bom-ref":"' || a.id || '",' || coalesce('"evidence":{"occurrences":[' || e.list || ']},', '')
      || right(a.component::text, -1)
    FROM asset a ${places} ${clause(where)} ORDER BY a.id`;
  return { text, values };
}

/** One entry per asset, also for those that use nothing (CycloneDX 1.6, dependencies); a target that is not shown is left out. */
export function dependenciesQuery({ where, values, isEverything }: Shown): CopyQuery {
  const edges = (condition: string) => `SELECT from_id, ${TARGETS('dependsOn')}, ${TARGETS('provides')} FROM (
      SELECT r.from_id, r.kind, r.to_id FROM asset_relationship r WHERE r.kind IN ('dependsOn', 'provides') AND ${condition}
      GROUP BY r.from_id, r.kind, r.to_id) told GROUP BY from_id`;
  const entry = `',{"ref":"' || a.id || '"' || ${MEMBER('dependsOn')} || ${MEMBER('provides')} || '}'`;
  const text = isEverything
    ? `SELECT ${entry} FROM asset a LEFT JOIN (${edges(isActive('r.to_id'))}) r ON r.from_id = a.id
       WHERE ${isActive('a.id')} ORDER BY a.id`
    : `WITH shown AS MATERIALIZED (SELECT a.id FROM asset a ${clause(where)})
       SELECT ${entry} FROM shown a LEFT JOIN LATERAL (${edges('r.from_id = a.id AND r.to_id IN (SELECT id FROM shown)')}) r ON true
       ORDER BY a.id`;
  return { text, values };
}

/** Those that are gone are few and have an index of their own: the rows of the others need not be looked at. */
function isActive(id: string): string {
  return `NOT EXISTS (SELECT FROM asset g WHERE g.id = ${id} AND g.state <> 'active')`;
}

function clause(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
}
