import { anyOf, bitOf } from '../relationships/relationship-mask.js';
import type { CopyQuery } from './snapshot.js';

/** Which assets are shown: conditions on the table `a`, and their values. */
export interface Shown {
  readonly where: readonly string[];
  readonly values: readonly unknown[];
}

/** Assets about, so that a text is large enough to travel well, and what a query answers small enough for memory. */
const IN_TEXT = 128;
const TEXTS_IN_QUERY = 64;

const COMPONENT = `',{"bom-ref":"' || a.id || '",' || coalesce('"evidence":{"occurrences":[' || e.list || ']},', '') || right(a.component::text, -1)`;
const PLACE = `'{"location":' || to_json(o.location) || coalesce(',"line":' || o.line, '') || coalesce(',"offset":' || o.position, '')
  || coalesce(',"symbol":' || to_json(o.symbol), '') || coalesce(',"additionalContext":' || to_json(o.context), '') || '}'`;
/** Each place once, however many sources show it, in the order of the key. */
const PLACES = (condition: string) => `SELECT o.asset_id, string_agg(o.place, ',' ORDER BY o.id) AS list FROM (
    SELECT DISTINCT ON (o.asset_id, o.id) o.asset_id, o.id, ${PLACE} AS place FROM asset_occurrence o
    WHERE ${condition} AND o.missed = 0 AND o.location <> '' ORDER BY o.asset_id, o.id) o GROUP BY o.asset_id`;

const DEPENDENCY = `',{"ref":"' || a.id || '"' || coalesce(',"dependsOn":["' || t.uses || '"]', '')
  || coalesce(',"provides":["' || t.offers || '"]', '') || '}'`;
const [USE, OFFER] = [bitOf('dependsOn'), bitOf('provides')];
/** Each edge once, however many sources tell of it. */
const TARGETS = (
  condition: string,
) => `SELECT r.from_id, ${targetsOf(USE)} AS uses, ${targetsOf(OFFER)} AS offers FROM (
    SELECT r.from_id, r.to_id, bit_or(r.kinds) AS kinds FROM asset_relationship r
    WHERE ${anyOf('r.kinds', USE | OFFER)} AND ${condition} GROUP BY r.from_id, r.to_id) r GROUP BY r.from_id`;

/**
 * One component a line, with a comma before it, in the order of the ids. The stored text of a component is sent as it stands, but for
 * its first brace (`substr` would count its characters).
 */
export function componentsQuery({ where, values }: Shown): CopyQuery {
  const text = `SELECT ${COMPONENT} FROM judged_asset a LEFT JOIN LATERAL (${PLACES('o.asset_id = a.id')}) e ON true
    ${clause(where)} ORDER BY a.id`;
  return { text, values };
}

/** One entry per asset, also for those that use nothing (CycloneDX 1.6, dependencies); a target that is not shown is left out. */
export function dependenciesQuery({ where, values }: Shown): CopyQuery {
  const targets = TARGETS('r.from_id = a.id AND r.to_id IN (SELECT id FROM shown)');
  const text = `WITH shown AS MATERIALIZED (SELECT a.id FROM judged_asset a ${clause(where)})
    SELECT ${DEPENDENCY} FROM shown a LEFT JOIN LATERAL (${targets}) t ON true ORDER BY a.id`;
  return { text, values };
}

/** All active assets, of which there are `count`: the same lines, many in each text, by queries that can be read side by side. */
export function allComponentsQueries(count: number): CopyQuery[] {
  const places = PLACES('o.asset_id BETWEEN b.low AND b.high');
  return inStretches(
    count,
    `SELECT string_agg(${COMPONENT}, e'\\n' ORDER BY a.id) FROM asset a LEFT JOIN (${places}) e ON e.asset_id = a.id
     WHERE a.id BETWEEN b.low AND b.high AND a.state = 'active'`,
  );
}

export function allDependenciesQueries(count: number): CopyQuery[] {
  // Those that are gone have an index of their own, asked for each target (OFFSET 0): of how many they are the planner may know nothing yet.
  const isShown = `NOT EXISTS (SELECT FROM asset g WHERE g.id = r.to_id AND g.state <> 'active' OFFSET 0)`;
  const targets = TARGETS(`r.from_id BETWEEN b.low AND b.high AND ${isShown}`);
  return inStretches(
    count,
    `SELECT string_agg(${DEPENDENCY}, e'\\n' ORDER BY a.id) FROM asset a LEFT JOIN (${targets}) t ON t.from_id = a.id
     WHERE a.id BETWEEN b.low AND b.high AND a.state = 'active'`,
  );
}

/** Ids are hashes: stretches of the same length hold about as many. */
function inStretches(count: number, text: string): CopyQuery[] {
  const stretches = Math.max(1, Math.ceil(count / IN_TEXT));
  const bounds = Array.from({ length: stretches }, (_, index) => {
    const [low, high] = [startOf(index, stretches), startOf(index + 1, stretches) - 1];
    return `('${uuidOf(low, '0')}'::uuid, '${uuidOf(high, 'f')}'::uuid)`;
  });
  return Array.from({ length: Math.ceil(stretches / TEXTS_IN_QUERY) }, (_, index) => {
    const some = bounds.slice(index * TEXTS_IN_QUERY, (index + 1) * TEXTS_IN_QUERY);
    return { text: `SELECT (${text}) FROM (VALUES ${some.join(', ')}) AS b (low, high)`, values: [] };
  });
}

function startOf(index: number, stretches: number): number {
  return Math.floor((2 ** 32 * index) / stretches);
}

/** One that begins so, with the same digit from there on. */
function uuidOf(first32: number, digit: string): string {
  return first32.toString(16).padStart(8, '0').padEnd(32, digit);
}

/** By FILTER instead of CASE, PostgreSQL would sort the targets of each asset again. */
function targetsOf(bit: number): string {
  return `string_agg(CASE WHEN ${anyOf('r.kinds', bit)} THEN r.to_id::text END, '","' ORDER BY r.to_id)`;
}

function clause(where: readonly string[]): string {
  return where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
}
