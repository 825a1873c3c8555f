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
import type { CdxComponent, Draft, DraftAsset, DraftLink, DraftOccurrence } from './draft.js';

export interface OccurrenceRow extends DraftOccurrence {
  readonly assetId: string;
  readonly id: string;
}

/** An asset of a document. Its component names others as the document does. */
export interface IdentifiedAsset extends GraphAsset {
  /** None before all assets are connected. */
  edges: readonly GraphEdge[];
  /** As the document has them, some more than once. */
  readonly places: DraftOccurrence[];
  readonly links: DraftLink[];
}

/** What a document says, in the terms of the inventory: every asset by its identity, and what is the same as one. */
export class DocumentAssets {
  private readonly byRef = new Map<string, IdentifiedAsset>();
  private readonly byId = new Map<string, IdentifiedAsset>();
  private sorted: readonly IdentifiedAsset[] | undefined;
  private isConnected = false;

  /** @param scope what tells assets without an identity of their own from those of other documents. */
  constructor(
    private readonly draft: Draft,
    private readonly scope: string,
  ) {}

  /** In the order of their ids: so two documents meet, and so what belongs to one asset lies together in each table. */
  all(): readonly IdentifiedAsset[] {
    if (this.sorted === undefined) {
      this.discover();
      this.sorted = [...this.byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    }
    return this.sorted;
  }

  /** The same, with their edges. */
  connected(): readonly IdentifiedAsset[] {
    const assets = this.all();
    // In the order in which they were made: so they lie in memory.
    if (!this.isConnected) for (const asset of this.byId.values()) asset.edges = edgesOf(asset, this.byRef);
    this.isConnected = true;
    return assets;
  }

  readonly idOf = (ref: string): string | undefined => this.byRef.get(ref)?.id;

  /** What each bom-ref stands for. */
  refs(): [ref: string, id: string][] {
    this.all();
    return [...this.byRef].map(([ref, { id }]) => [ref, id]);
  }

  /** Each place of an asset once. */
  *places(): Generator<OccurrenceRow[]> {
    for (const asset of this.all()) yield occurrenceRows(asset);
  }

  private discover(): void {
    const { draft, scope, byRef } = this;
    const anonymous: DraftAsset[] = [];
    for (const asset of draft.assets) {
      const identity = ownIdentity(asset);
      if (identity === undefined) anonymous.push(asset);
      else this.add(asset, hashId('asset', ...identity));
    }
    for (const { asset, id } of identifyAnonymous(anonymous, byRef, scope)) this.add(asset, id);
  }

  /** Of equal ones, the first says what it is, and all where it is. */
  private add({ ref, kind, component, occurrences: places, links }: DraftAsset, id: string): void {
    let asset = this.byId.get(id);
    if (asset === undefined) {
      asset = { id, kind, component, places, links, edges: NONE };
      this.byId.set(id, asset);
    } else {
      for (const place of places) asset.places.push(place);
      for (const link of links) asset.links.push(link);
    }
    this.byRef.set(ref, asset);
  }
}

const NONE: readonly GraphEdge[] = [];

function edgesOf(asset: IdentifiedAsset, byRef: ReadonlyMap<string, IdentifiedAsset>): readonly GraphEdge[] {
  const leads: Lead[] = asset.links.map(({ kind, to }) => ({ kind, to: byRef.get(to) }));
  const isEdge = (lead: Lead): lead is Lead & GraphEdge => lead.to !== undefined && lead.to !== asset;
  const edges = leads.every(isEdge) ? leads : leads.filter(isEdge);
  return edges.length < 2 ? edges : eachOnce(edges);
}

interface Lead {
  readonly kind: GraphEdge['kind'];
  readonly to: IdentifiedAsset | undefined;
}

/** In the order of kind and id. */
function eachOnce(edges: GraphEdge[]): GraphEdge[] {
  edges.sort((a, b) => order(a.kind, b.kind) || order(a.to.id, b.to.id));
  const isRepeated = ({ kind, to }: GraphEdge, index: number) =>
    kind === edges[index - 1]?.kind && to === edges[index - 1]?.to;
  return edges.some(isRepeated) ? edges.filter((edge, index) => !isRepeated(edge, index)) : edges;
}

/**
 * Anonymous assets that nothing tells apart are numbered in the order of their lines. What makes them themselves travels as
 * properties, so that an exported document gives them the same identity wherever it is read.
 */
function* identifyAnonymous(
  anonymous: readonly DraftAsset[],
  byRef: ReadonlyMap<string, IdentifiedAsset>,
  scope: string,
): Generator<{ asset: DraftAsset; id: string }> {
  // Before the first of them is known by its ref.
  const algorithms = new Map(anonymous.map((asset) => [asset, algorithmsOf(asset, byRef)]));
  const counts = new Map<string, number>();
  for (const asset of anonymous.toSorted((a, b) => firstLine(a) - firstLine(b))) {
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const identity = anonymousIdentity(asset, within, algorithms.get(asset) ?? []);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    const component = given === undefined ? withScope(asset.component, within, ordinal) : asset.component;
    yield { asset: { ...asset, component }, id: hashId('asset', ...identity, ordinal) };
  }
}

/** Ids of what it uses, as far as that has an identity of its own. */
function algorithmsOf({ links }: DraftAsset, byRef: ReadonlyMap<string, IdentifiedAsset>): string[] {
  const ids = links.map(({ to }) => byRef.get(to)?.id).filter((id) => id !== undefined);
  return [...new Set(ids)];
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
  const some = places.length === 0 ? [NOWHERE] : places;
  const rows = some.map(({ location, line, position, symbol, context }) => {
    const id = hashIdOfText(JSON.stringify([location, line, position, symbol, context]));
    return { assetId, id, location, line, position, symbol, context };
  });
  return rows.length < 2 ? rows : [...new Map(rows.map((row) => [row.id, row])).values()];
}
