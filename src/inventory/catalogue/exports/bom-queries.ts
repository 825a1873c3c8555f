import { whereClause } from '../assets/asset-filter.js';
import { anyOf, bitOf } from '../../model/asset-relationship.entity.js';
import type { CopyQuery, ReaderShare } from './snapshot.js';

/** ShownComponent is an asset filter: conditions on the table `a`, and the values of their parameters. */
export interface ShownComponent {
  readonly where: readonly string[];
  readonly values: readonly unknown[];
  /** Source whose locations, names and edges are exported; undefined for all sources. */
  readonly sourceId?: string | undefined;
}

/** Share is one reader's share of the id ranges. Each of n readers reads every nth range. */
export interface Share extends ReaderShare {
  readonly stretches: number;
}

/** TEXT_BYTES is the number of table bytes per text. The value is a compromise between throughput and memory use. */
const TEXT_BYTES = 384 * 1024;
/** TEXTS_IN_QUERY is the number of ranges per query. A query over this number of ranges finishes within its timeout even for a slow client. */
const TEXTS_IN_QUERY = 64;

const componentWith = (facts: string) =>
  `',{"bom-ref":"' || a.id || '",' || coalesce('"evidence":{"occurrences":[' || e.list || ']},', '') || ${facts}`;
const COMPONENT = componentWith('right(a.component::text, -1)');
/** Matches the name, which is the first member in a component's JSON (intake/staging/asset-rows.ts). */
const NAME_AT_START = String.raw`^\{"name":"(?:[^"\\]|\\.)*",`;
const RENAMED = componentWith(
  `CASE WHEN n.name IS NULL THEN right(a.component::text, -1)
   ELSE '"name":' || to_json(n.name) || ',' || regexp_replace(a.component::text, '${NAME_AT_START}', '') END`,
);
const PLACE = `'{"location":' || to_json(o.location) || coalesce(',"line":' || o.line, '') || coalesce(',"offset":' || o.position, '')
  || coalesce(',"symbol":' || to_json(o.symbol), '') || coalesce(',"additionalContext":' || to_json(o.context), '') || '}'`;
/**
 * MAX_PLACES_BYTES is the maximum size of one asset's exported locations, in bytes of JSON plus 200 bytes for each location. The limit allows at most 10,000
 * locations.
 */
export const MAX_PLACES_BYTES = 2_000_000;
/**
 * SQL for the locations of an asset, in key order. Each location is listed once, regardless of how many sources report the location. The total size is limited,
 * because the locations of an asset form a single value in the database and in the service.
 */
const PLACES = (condition: string) => `SELECT o.asset_id, string_agg(o.place, ',' ORDER BY o.id) AS list FROM (
    SELECT o.asset_id, o.id, o.place, sum(octet_length(o.place) + 200) OVER (PARTITION BY o.asset_id ORDER BY o.id) AS size FROM (
      SELECT DISTINCT ON (o.asset_id, o.id) o.asset_id, o.id, ${PLACE} AS place FROM asset_occurrence o
      WHERE ${condition} AND o.missed = 0 AND o.location <> '' ORDER BY o.asset_id, o.id) o) o
    WHERE o.size <= ${MAX_PLACES_BYTES} GROUP BY o.asset_id`;

const DEPENDENCY = `',{"ref":"' || a.id || '"' || coalesce(',"dependsOn":["' || t.uses || '"]', '')
  || coalesce(',"provides":["' || t.offers || '"]', '') || '}'`;
const [USE, OFFER] = [bitOf('dependsOn'), bitOf('provides')];
/** SQL for the edges of an asset. Each edge is listed once, regardless of how many sources report the edge. */
const TARGETS = (
  condition: string,
) => `SELECT r.from_id, ${targetsOf(USE)} AS uses, ${targetsOf(OFFER)} AS offers FROM (
    SELECT r.from_id, r.to_id, bit_or(r.kinds) AS kinds FROM asset_relationship r
    WHERE ${anyOf('r.kinds', USE | OFFER)} AND ${condition} GROUP BY r.from_id, r.to_id) r GROUP BY r.from_id`;

/**
 * componentsQuery returns a query for the components in id order, each on a line that begins with a comma. The stored JSON of a component is sent unchanged
 * except for its first brace. The brace is removed with `right`, because `substr` would count the characters.
 */
export function componentsQuery({ where, values, sourceId }: ShownComponent): CopyQuery {
  if (sourceId !== undefined) return componentsOfSource(where, values, sourceId);
  const text = `SELECT ${COMPONENT} FROM judged_asset a LEFT JOIN LATERAL (${PLACES('o.asset_id = a.id')}) e ON true
    ${whereClause(where)} ORDER BY a.id`;
  return { text, values };
}

/**
 * Returns a query for the components as reported by one source. A document about one application therefore reveals nothing about other applications.
 */
function componentsOfSource(where: readonly string[], values: readonly unknown[], sourceId: string): CopyQuery {
  const source = `$${values.length + 1}::uuid`;
  const places = PLACES(`o.asset_id = a.id AND o.source_id = ${source}`);
  const names = `SELECT min(n.name) AS name FROM asset_source_name n WHERE n.asset_id = a.id AND n.source_id = ${source}`;
  const text = `SELECT ${RENAMED} FROM judged_asset a LEFT JOIN LATERAL (${places}) e ON true LEFT JOIN LATERAL (${names}) n ON true
    ${whereClause(where)} ORDER BY a.id`;
  return { text, values: [...values, sourceId] };
}

/**
 * dependenciesQuery returns a query for one entry per asset, even if the asset has no dependencies (CycloneDX 1.6, dependencies). Targets that are not exported
 * are excluded. OFFSET 0 makes PostgreSQL look up each target by id: a list of all exported assets may be too long for a hash table and would then be scanned
 * for every target.
 */
export function dependenciesQuery({ where, values, sourceId }: ShownComponent): CopyQuery {
  const own = sourceId === undefined ? '' : `r.source_id = $${values.length + 1}::uuid AND `;
  const isShown = `EXISTS (SELECT FROM judged_asset a ${whereClause(['a.id = r.to_id', ...where])} OFFSET 0)`;
  const text = `SELECT ${DEPENDENCY} FROM judged_asset a LEFT JOIN LATERAL (${TARGETS(`${own}r.from_id = a.id AND ${isShown}`)}) t ON true
    ${whereClause(where)} ORDER BY a.id`;
  return { text, values: sourceId === undefined ? values : [...values, sourceId] };
}

/**
 * LOST_TARGETS is SQL for the inactive assets that active assets still use or provide. There are very few of these assets, because an asset's edges are removed
 * when a document no longer contains the asset.
 */
export const LOST_TARGETS = `SELECT coalesce(array_agg(g.id), '{}') AS lost FROM asset g WHERE g.state <> 'active' AND EXISTS (
    SELECT FROM asset_relationship r WHERE r.to_id = g.id AND ${anyOf('r.kinds', USE | OFFER)}
      AND NOT EXISTS (SELECT FROM asset f WHERE f.id = r.from_id AND f.state <> 'active' OFFSET 0) OFFSET 0)`;

/**
 * rowRangesOf returns the number of id ranges into which a table is split so that each text has about TEXT_BYTES. Ids are hashes, so ranges of equal length
 * contain about the same number of assets.
 */
export function rowRangesOf(tableBytes: number): number {
  return Math.ceil(tableBytes / TEXT_BYTES) || 1;
}

/** allComponentsQueries returns queries for the lines of all active assets, one range per text. */
export function allComponentsQueries(share: Share): CopyQuery[] {
  const places = PLACES('o.asset_id BETWEEN b.low AND b.high');
  return inStretches(
    share,
    `SELECT string_agg(${COMPONENT}, e'\\n' ORDER BY a.id) FROM asset a LEFT JOIN (${places}) e ON e.asset_id = a.id
     WHERE a.id BETWEEN b.low AND b.high AND a.state = 'active'`,
  );
}

/** allDependenciesQueries returns queries for the dependencies of all active assets. The queries use only indexes; inactive assets have a separate index. */
export function allDependenciesQueries(share: Share, lost: readonly string[]): CopyQuery[] {
  const targets = TARGETS(`r.from_id BETWEEN b.low AND b.high AND r.to_id <> ALL ('{${lost.join(',')}}'::uuid[])`);
  return inStretches(
    share,
    `SELECT string_agg(${DEPENDENCY}, e'\\n' ORDER BY a.id) FROM asset a LEFT JOIN (${targets}) t ON t.from_id = a.id
     WHERE a.id BETWEEN b.low AND b.high
       AND NOT EXISTS (SELECT FROM asset g WHERE g.id BETWEEN b.low AND b.high AND g.state <> 'active' AND g.id = a.id)`,
  );
}

function inStretches({ stretches, reader, readers }: Share, text: string): CopyQuery[] {
  const low = `rpad(lpad(to_hex(n * 4294967296 / ${stretches}), 8, '0'), 32, '0')::uuid`;
  const high = `rpad(lpad(to_hex((n + 1) * 4294967296 / ${stretches} - 1), 8, '0'), 32, 'f')::uuid`;
  const queries: CopyQuery[] = [];
  for (let first = reader; first < stretches; first += readers * TEXTS_IN_QUERY) {
    const last = Math.min(first + readers * TEXTS_IN_QUERY, stretches) - 1;
    const bounds = `SELECT ${low} AS low, ${high} AS high FROM generate_series(${first}, ${last}, ${readers}) AS n`;
    queries.push({
      text: `SELECT t.text FROM (${bounds}) AS b CROSS JOIN LATERAL (${text}) AS t (text)`,
      values: [],
    });
  }
  return queries;
}

/** Uses CASE instead of FILTER, because PostgreSQL would sort each asset's targets again for FILTER. */
function targetsOf(bit: number): string {
  return `string_agg(CASE WHEN ${anyOf('r.kinds', bit)} THEN r.to_id::text END, '","' ORDER BY r.to_id)`;
}
