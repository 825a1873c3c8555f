import { withReferences } from '../cyclonedx/component-reader.js';
import { bitOf } from '../relationships/relationship-mask.js';
import { type GraphAsset, type GraphEdge, grouped } from '../risk/asset-graph.js';
import {
  anonymousIdentity,
  hashId,
  hashIdOfText,
  ORDINAL_PROPERTY,
  ownIdentity,
  propertyOf,
  SCOPE_PROPERTY,
} from './asset-identity.js';
import type { CdxComponent, Draft, DraftAsset, DraftOccurrence } from './draft.js';

export interface EdgeRow {
  readonly fromId: string;
  readonly toId: string;
  /** As relationship-mask.ts says. */
  readonly kinds: number;
}

export interface OccurrenceRow extends DraftOccurrence {
  readonly assetId: string;
  readonly id: string;
}

/** An asset of a document, with ids in place of refs. */
export interface IdentifiedAsset extends GraphAsset {
  /** As the document has them, some more than once. */
  readonly places: DraftOccurrence[];
}

/** What a document says, in the terms of the inventory. */
export interface Identified {
  readonly assets: ReadonlyMap<string, IdentifiedAsset>;
  /** Of the assets, in order. */
  readonly sorted: readonly string[];
  /** Each once, in the order of start, kind and end. */
  readonly relationships: GraphEdge[];
  /** Ids by ref. */
  readonly refs: ReadonlyMap<string, string>;
}

/** Gives every asset its identity, and merges what is the same. */
export function identify({ assets, links }: Draft, scope: string): Identified {
  const ids = new Map<string, string>();
  for (const asset of assets) {
    const identity = ownIdentity(asset);
    if (identity !== undefined) ids.set(asset.ref, hashId('asset', ...identity));
  }
  const scoped = identifyAnonymous(assets, links, ids, scope);
  const found = new Map<string, IdentifiedAsset>();
  for (const asset of assets) {
    const id = ids.get(asset.ref) ?? '';
    const known = found.get(id);
    if (known !== undefined) for (const place of asset.occurrences) known.places.push(place);
    else {
      const component = withReferences(scoped.get(asset.ref) ?? asset.component, (ref) => ids.get(ref));
      found.set(id, { id, kind: asset.kind, component, places: [...asset.occurrences] });
    }
  }
  const sorted = [...found.keys()].sort();
  return { assets: found, sorted, relationships: edgesOf(links, sorted, ids), refs: ids };
}

/** Each edge once, in the order of start, kind and end, in which verdicts look at them. */
function edgesOf(links: Draft['links'], sorted: readonly string[], ids: ReadonlyMap<string, string>) {
  const found: GraphEdge[] = [];
  for (const { from, to, kind } of links) {
    const [fromId, toId] = [ids.get(from), ids.get(to)];
    if (fromId !== undefined && toId !== undefined && fromId !== toId) found.push({ fromId, kind, toId });
  }
  const byStart = grouped(found, ({ fromId }) => fromId);
  const edges: GraphEdge[] = [];
  for (const id of sorted) {
    let before: GraphEdge | undefined;
    for (const edge of (byStart.get(id) ?? []).sort((a, b) => order(a.kind, b.kind) || order(a.toId, b.toId))) {
      if (edge.toId !== before?.toId || edge.kind !== before.kind) edges.push(edge);
      before = edge;
    }
  }
  return edges;
}

/**
 * Anonymous assets that nothing tells apart are numbered in the order of their lines. What makes them themselves travels as
 * properties, so that an exported document gives them the same identity wherever it is read.
 */
function identifyAnonymous(
  assets: readonly DraftAsset[],
  links: Draft['links'],
  ids: Map<string, string>,
  scope: string,
): Map<string, CdxComponent> {
  const algorithms = new Map<string, string[]>();
  for (const { from, to } of links) {
    const id = ids.get(to);
    if (ids.has(from) || id === undefined) continue;
    const list = algorithms.get(from);
    if (list === undefined) algorithms.set(from, [id]);
    else list.push(id);
  }
  const changed = new Map<string, CdxComponent>();
  const counts = new Map<string, number>();
  const anonymous = assets.filter(({ ref }) => !ids.has(ref)).sort((a, b) => firstLine(a) - firstLine(b));
  for (const asset of anonymous) {
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const linked = [...new Set(algorithms.get(asset.ref) ?? [])];
    const identity = anonymousIdentity(asset, within, linked);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    ids.set(asset.ref, hashId('asset', ...identity, ordinal));
    if (given === undefined) changed.set(asset.ref, withScope(asset.component, within, ordinal));
  }
  return changed;
}

function firstLine({ occurrences }: DraftAsset): number {
  return Math.min(...occurrences.map(({ line }) => line ?? 0), Number.MAX_SAFE_INTEGER);
}

function withScope(component: CdxComponent, scope: string, ordinal: number): CdxComponent {
  const own = (component.properties ?? []).filter(({ name }) => name !== SCOPE_PROPERTY && name !== ORDINAL_PROPERTY);
  const properties = [
    ...own,
    { name: SCOPE_PROPERTY, value: scope },
    { name: ORDINAL_PROPERTY, value: String(ordinal) },
  ];
  return { ...component, properties };
}

const NOWHERE: DraftOccurrence = { location: '', line: null, position: null, symbol: null, context: null };

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The places of an asset, each once; most have one. */
export function occurrenceRows({ id: assetId, places }: IdentifiedAsset): OccurrenceRow[] {
  const rows = (places.length > 0 ? places : [NOWHERE]).map(({ location, line, position, symbol, context }) => {
    const id = hashIdOfText(JSON.stringify([location, line, position, symbol, context]));
    return { assetId, id, location, line, position, symbol, context };
  });
  return rows.length === 1 ? rows : [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** One row for all kinds of an edge, in the order of the table's key. */
export function edgeRows(edges: readonly GraphEdge[]): EdgeRow[] {
  const rows: { fromId: string; toId: string; kinds: number }[] = [];
  for (const { fromId, toId, kind } of edges.toSorted((a, b) => order(a.fromId, b.fromId) || order(a.toId, b.toId))) {
    const last = rows.at(-1);
    if (last?.fromId === fromId && last.toId === toId) last.kinds |= bitOf(kind);
    else rows.push({ fromId, toId, kinds: bitOf(kind) });
  }
  return rows;
}
