import type { EntityManager } from 'typeorm';
import { uuidArray } from '../../../platform/database/copy-rows.js';
import type { AssetKind } from '../../model/asset-kind.js';
import { bitOf, RELATIONSHIP_KINDS } from '../../model/asset-relationship.entity.js';
import type { CdxComponent } from '../../model/document.js';
import type { ResolvedBy } from '../../model/risk-subject.js';
import type { GraphAsset, GraphEdge } from '../risk/asset-graph.js';
import { traitsOf } from '../risk/asset-traits.js';

/** MAX_STEPS is the maximum number of references that a verdict follows, for example from a protocol to a key, to an algorithm, to another algorithm. */
const MAX_STEPS = 3;
/** MAX_EDGES is the maximum number of edges that are read per asset. A verdict uses only the first few edges. */
const MAX_EDGES = 1000;

/** StoredAsset is a stored asset with the edges on which its verdict may depend. */
export interface StoredAsset extends GraphAsset {
  /** JSON as stored in the inventory. */
  readonly component: string;
  readonly verdictId: string | null;
  /** Assets from which the verdict was derived. */
  readonly resolvedBy: readonly ResolvedBy[];
  readonly edges: GraphEdge[];
}

export interface StoredPage {
  /** Id of the last asset on this page, after which the next page begins; undefined on the last page. */
  readonly last: string | undefined;
  /** Assets to read, in id order. */
  readonly page: readonly StoredAsset[];
  /** Assets on the page, and all assets that can be reached from these assets. */
  readonly all: readonly StoredAsset[];
}

interface AssetRow {
  readonly id: string;
  readonly kind: AssetKind;
  readonly component: string;
  readonly verdictId: string | null;
  readonly isProven: boolean;
  readonly resolvedBy: ResolvedBy[] | null;
}

interface EdgeRow {
  readonly from: string;
  readonly to: string;
  readonly kinds: number;
}

const COLUMNS = `a.id, a.kind, a.component::text AS component, a.verdict_id AS "verdictId", a.proven AS "isProven", a.resolved_by AS "resolvedBy"`;
/** Kinds of assets whose verdicts are derived from exactly the assets in `resolved_by`. */
const LISTED: ReadonlySet<AssetKind> = new Set(['component', 'protocol', 'certificate']);
const USED_BY = bitOf('dependsOn') | bitOf('cryptoRef');

/**
 * storedAssets returns up to `limit` assets of a source after an id, as stored in the inventory. Sources may describe an asset differently, so the edges from
 * which the stored verdict was derived come first. The same reader therefore derives the same verdict again. Assets that the source's newest document no longer
 * contains are omitted, because these assets no longer have edges and keep their verdict.
 */
export async function storedAssets(
  tx: EntityManager,
  { sourceId, after, limit }: { readonly sourceId: string; readonly after: string; readonly limit: number },
): Promise<StoredPage> {
  const ids = (await tx.query(
    `SELECT DISTINCT asset_id AS id FROM asset_occurrence WHERE source_id = $1 AND asset_id > $2 AND missed = 0 ORDER BY asset_id LIMIT $3`,
    [sourceId, after, limit],
  )) as { id: string }[];
  // A component that uses no cryptography has no facts to classify.
  const rows = (await tx.query(
    `SELECT ${COLUMNS} FROM asset a WHERE a.id = ANY($1::uuid[]) AND NOT (a.kind = 'component' AND a.verdict_id IS NULL) ORDER BY a.id`,
    [uuidArray(ids.map(({ id }) => id))],
  )) as AssetRow[];
  const known = new Map<string, StoredAsset>();
  const page = add(known, rows);
  let newest = page;
  for (let step = 0; step < MAX_STEPS && newest.length > 0; step += 1) {
    const further = await edgesFrom(tx, newest);
    const users = step < MAX_STEPS - 1 ? await usersOf(tx, newest) : [];
    const added = await addMissing(tx, known, [...further, ...users]);
    for (const { from, to, kinds } of [...further, ...users]) connect(known.get(from), known.get(to), kinds);
    const targets = new Set(further.map(({ to }) => to));
    newest = added.filter(({ id }) => targets.has(id));
  }
  for (const { edges, resolvedBy } of known.values()) sortEdges(edges, resolvedBy);
  return { last: ids.at(-1)?.id, page, all: decidingFirst([...known.values()]) };
}

function add(known: Map<string, StoredAsset>, rows: readonly AssetRow[]): StoredAsset[] {
  return rows.map(({ id, kind, component, verdictId, isProven, resolvedBy }) => {
    const parsed = JSON.parse(component) as CdxComponent;
    const traits = traitsOf(kind, parsed);
    const asset = {
      id,
      kind,
      name: parsed.name,
      traits,
      component,
      verdictId,
      isProven,
      resolvedBy: resolvedBy ?? [],
      edges: [],
    };
    known.set(id, asset);
    return asset;
  });
}

async function addMissing(
  tx: EntityManager,
  known: Map<string, StoredAsset>,
  edges: readonly EdgeRow[],
): Promise<StoredAsset[]> {
  const missing = new Set(edges.flatMap(({ from, to }) => [from, to]).filter((id) => !known.has(id)));
  if (missing.size === 0) return [];
  const found: AssetRow[] = await tx.query(`SELECT ${COLUMNS} FROM asset a WHERE a.id = ANY($1::uuid[])`, [
    uuidArray([...missing]),
  ]);
  return add(known, found);
}

/**
 * Returns the references of assets. If an asset lists references in `resolvedBy`, only these references are read, because an application may use a hundred
 * thousand assets.
 */
async function edgesFrom(tx: EntityManager, assets: readonly StoredAsset[]): Promise<EdgeRow[]> {
  const listing = assets.filter(isListing);
  const rest = assets.filter((asset) => !isListing(asset));
  const pairs = listing.flatMap(({ id, resolvedBy }) =>
    [...new Set(resolvedBy.flatMap(targetOf))].map((to) => ({ id, to })),
  );
  return (await tx.query(
    `SELECT f.id AS "from", e.to_id AS "to", e.kinds FROM unnest($1::uuid[]) AS f (id) CROSS JOIN LATERAL (
       SELECT to_id, bit_or(kinds) AS kinds FROM asset_relationship WHERE from_id = f.id GROUP BY to_id ORDER BY to_id LIMIT ${MAX_EDGES}) e
     UNION ALL
     SELECT p.id, p.to_id, bit_or(r.kinds) FROM unnest($2::uuid[], $3::uuid[]) AS p (id, to_id)
     JOIN asset_relationship r ON r.from_id = p.id AND r.to_id = p.to_id GROUP BY 1, 2`,
    [uuidArray(rest.map(({ id }) => id)), uuidArray(pairs.map(({ id }) => id)), uuidArray(pairs.map(({ to }) => to))],
  )) as EdgeRow[];
}

function isListing({ kind, resolvedBy }: StoredAsset): boolean {
  return LISTED.has(kind) && resolvedBy.some(({ via }) => via === 'reference' || via === 'dependsOn');
}

function targetOf({ assetId }: ResolvedBy): readonly string[] {
  return assetId === undefined ? [] : [assetId];
}

/** Returns the edges from the algorithms that use a key, certificate or protocol. These edges are read only for assets about which nothing else was known. */
async function usersOf(tx: EntityManager, assets: readonly StoredAsset[]): Promise<EdgeRow[]> {
  const ids = assets
    .filter(({ kind, resolvedBy: [first] }) => kind !== 'algorithm' && kind !== 'component' && isLastResort(first))
    .map(({ id }) => id);
  if (ids.length === 0) return [];
  return (await tx.query(
    `SELECT e.from_id AS "from", t.id AS "to", e.kinds FROM unnest($1::uuid[]) AS t (id) CROSS JOIN LATERAL (
       SELECT r.from_id, bit_or(r.kinds) AS kinds FROM asset_relationship r JOIN asset f ON f.id = r.from_id AND f.kind = 'algorithm'
       WHERE r.to_id = t.id AND r.kinds & ${USED_BY} <> 0 GROUP BY r.from_id ORDER BY r.from_id LIMIT ${MAX_EDGES}) e`,
    [uuidArray(ids)],
  )) as EdgeRow[];
}

function isLastResort(first: ResolvedBy | undefined): boolean {
  return first === undefined || first.via === 'usedBy' || first.via === 'name';
}

function connect(from: StoredAsset | undefined, to: StoredAsset | undefined, kinds: number): void {
  if (from === undefined || to === undefined) return;
  for (const kind of RELATIONSHIP_KINDS)
    if ((kinds & bitOf(kind)) !== 0 && !from.edges.some((edge) => edge.to === to && edge.kind === kind))
      from.edges.push({ kind, to });
}

/** Sorts edges by kind, then by whether they determined the previous verdict (these edges first), then by id. */
function sortEdges(edges: GraphEdge[], resolvedBy: readonly ResolvedBy[]): void {
  if (edges.length < 2) return;
  const deciding = new Set(resolvedBy.flatMap(targetOf));
  const rank = ({ id }: GraphAsset) => (deciding.has(id) ? 0 : 1);
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  edges.sort((a, b) => order(a.kind, b.kind) || rank(a.to) - rank(b.to) || order(a.to.id, b.to.id));
}

/**
 * Orders the assets. If several assets use a key, the asset that determined the previous verdict comes first, because the first user in the graph determines
 * the verdict.
 */
function decidingFirst(all: readonly StoredAsset[]): StoredAsset[] {
  const users = new Set(
    all.flatMap(({ resolvedBy }) => resolvedBy.filter(({ via }) => via === 'usedBy').flatMap(targetOf)),
  );
  return all.toSorted((a, b) => Number(users.has(b.id)) - Number(users.has(a.id)));
}
