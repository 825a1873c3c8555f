import type { GraphAsset, GraphEdge } from '../risk/asset-graph.js';
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

export interface OccurrenceRow extends DraftOccurrence {
  readonly assetId: string;
  readonly id: string;
}

/** An asset of a document. Its component names others as the document does. */
export interface IdentifiedAsset extends GraphAsset {
  /** None before `connect`. */
  edges: GraphEdge[];
  /** As the document has them, some more than once. */
  readonly places: DraftOccurrence[];
}

/** What a document says, in the terms of the inventory. */
export interface Identified {
  /** In the order of their ids. */
  readonly assets: readonly IdentifiedAsset[];
  readonly byRef: ReadonlyMap<string, IdentifiedAsset>;
}

/** Gives every asset its identity, and merges what is the same. */
export function identify({ assets, links }: Draft, scope: string): Identified {
  const found = new Finds();
  const anonymous: DraftAsset[] = [];
  for (const asset of assets) {
    const identity = ownIdentity(asset);
    if (identity === undefined) anonymous.push(asset);
    else found.add(asset, hashId('asset', ...identity));
  }
  if (anonymous.length > 0) identifyAnonymous(anonymous, links, found, scope);
  return { assets: found.sorted(), byRef: found.byRef };
}

/** Gives the assets their edges. */
export function connect({ assets, byRef }: Identified, links: Draft['links']): void {
  for (const { from, to, kind } of links) {
    const [start, end] = [byRef.get(from), byRef.get(to)];
    if (start !== undefined && end !== undefined && start !== end) start.edges.push({ kind, to: end });
  }
  for (const asset of assets) if (asset.edges.length > 1) asset.edges = eachOnce(asset.edges);
}

class Finds {
  readonly byRef = new Map<string, IdentifiedAsset>();
  private readonly byId = new Map<string, IdentifiedAsset>();

  /** Of equal ones, the first says what it is, and all where it is. */
  add({ ref, kind, component, occurrences }: DraftAsset, id: string): void {
    const known = this.byId.get(id);
    const found = known ?? { id, kind, component, places: [], edges: [] };
    for (const place of occurrences) found.places.push(place);
    if (known === undefined) this.byId.set(id, found);
    this.byRef.set(ref, found);
  }

  sorted(): IdentifiedAsset[] {
    return [...this.byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

/** In the order of kind and id. */
function eachOnce(edges: GraphEdge[]): GraphEdge[] {
  edges.sort((a, b) => order(a.kind, b.kind) || order(a.to.id, b.to.id));
  return edges.filter(({ kind, to }, index) => kind !== edges[index - 1]?.kind || to !== edges[index - 1]?.to);
}

/**
 * Anonymous assets that nothing tells apart are numbered in the order of their lines. What makes them themselves travels as
 * properties, so that an exported document gives them the same identity wherever it is read.
 */
function identifyAnonymous(anonymous: readonly DraftAsset[], links: Draft['links'], found: Finds, scope: string): void {
  const algorithms = algorithmsOf(anonymous, links, found.byRef);
  const counts = new Map<string, number>();
  for (const asset of anonymous.toSorted((a, b) => firstLine(a) - firstLine(b))) {
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const identity = anonymousIdentity(asset, within, [...(algorithms.get(asset.ref) ?? [])]);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    const component = given === undefined ? withScope(asset.component, within, ordinal) : asset.component;
    found.add({ ...asset, component }, hashId('asset', ...identity, ordinal));
  }
}

/** Ids of what each of them uses, as far as that has an identity of its own. */
function algorithmsOf(
  anonymous: readonly DraftAsset[],
  links: Draft['links'],
  byRef: ReadonlyMap<string, IdentifiedAsset>,
): ReadonlyMap<string, Set<string>> {
  const algorithms = new Map(anonymous.map(({ ref }) => [ref, new Set<string>()]));
  for (const { from, to } of links) {
    const used = byRef.get(to);
    if (used !== undefined) algorithms.get(from)?.add(used.id);
  }
  return algorithms;
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
