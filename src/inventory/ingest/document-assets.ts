import type { GraphEdge } from '../risk/asset-graph.js';
import { traitsOf } from '../risk/asset-traits.js';
import {
  anonymousIdentity,
  hashId,
  ORDINAL_PROPERTY,
  ownIdentity,
  propertyOf,
  SCOPE_PROPERTY,
} from '../model/asset-identity.js';
import { AssetStore, placesIn, renameRows, type StoredPlaces } from './asset-store.js';
import type { CdxComponent, Draft, DraftAsset } from '../model/document.js';
import { type DraftLead, DraftRefs } from '../model/draft-refs.js';
import type { IdentifiedAsset } from './identified-asset.js';
import { keyId, type KnownComponents, ProvisionalAssets } from './provisional-assets.js';

/** What a document says, in the terms of the inventory: every asset by its identity, and what is the same as one. */
export class DocumentAssets {
  private readonly refs = new DraftRefs<IdentifiedAsset>();
  private readonly store: AssetStore<IdentifiedAsset>;
  /** Links of assets that are told of more than once. */
  private readonly growing = new Map<IdentifiedAsset, DraftLead<IdentifiedAsset>[]>();
  private readonly provisional: ProvisionalAssets;
  private unsorted: IdentifiedAsset[] | undefined;
  private sorted: readonly IdentifiedAsset[] | undefined;

  /** @param source its name tells assets without an identity of their own from those of other documents. */
  constructor(
    private readonly draft: Draft,
    private readonly source: { readonly id: string; readonly name: string },
  ) {
    this.store = new AssetStore(this.refs, source.id);
    this.provisional = new ProvisionalAssets(this.refs);
  }

  /**
   * Reads the document, and asks for what the inventory knows by identities of the version before.
   *
   * @throws Problem what the document is refused for.
   */
  async read(known: KnownComponents): Promise<void> {
    this.unsorted ??= this.discovered();
    await this.provisional.settle(known);
    this.all();
  }

  /**
   * In the order of their ids: so two documents meet, and so what belongs to one asset lies together in each table.
   *
   * @throws Problem what the document is refused for.
   */
  all(): readonly IdentifiedAsset[] {
    if (this.sorted === undefined) {
      this.unsorted ??= this.discovered();
      this.provisional.settleAlone();
      this.sorted = this.merged(this.unsorted);
      this.unsorted = [];
      this.connect(this.sorted);
    }
    return this.sorted;
  }

  idOf(ref: string): string | undefined {
    this.all();
    return this.refs.of(ref).asset?.id;
  }

  /** What each bom-ref stands for. */
  named(): [ref: string, id: string][] {
    this.all();
    const named: [string, string][] = [];
    for (const { name, asset } of this.refs.values()) if (asset !== undefined) named.push([name, asset.id]);
    return named;
  }

  /** Rows of all places of an asset, each place once. */
  placesOf({ id, stored: { bytes, end: start, places: end }, more }: IdentifiedAsset): readonly StoredPlaces[] {
    if (end > start) return more.length === 0 ? [{ bytes, start, end }] : [{ bytes, start, end }, ...more];
    return more.length === 0 ? [this.store.nowhere(id)] : more;
  }

  /** Nothing of it is asked for any more. */
  release(): void {
    this.store.release();
  }

  /** Assets as the document tells them. */
  private discovered(): IdentifiedAsset[] {
    const { draft, refs } = this;
    const all: IdentifiedAsset[] = [];
    const anonymous: Anonymous[] = [];
    for (const asset of draft.assets(refs)) {
      const leads = asset.links.map(({ kind, to }) => refs.lead(kind, to));
      const identity = ownIdentity(asset);
      if (identity === undefined) anonymous.push({ asset, leads });
      else all.push(this.identified(asset, leads, hashId('asset', ...identity)));
    }
    for (const { asset, leads, id, look } of identifiedAnonymous(anonymous, refs, this.source.name)) {
      const made = this.identified(asset, leads, id);
      this.provisional.addLook(made, look);
      all.push(made);
    }
    return all;
  }

  private identified(asset: DraftAsset, leads: DraftLead<IdentifiedAsset>[], id: string): IdentifiedAsset {
    const { ref, kind, component } = asset;
    const stored = this.store.asset(id, asset);
    const traits = traitsOf(kind, component);
    const { name } = component;
    const made = { id, kind, name, traits, stored, leads, edges: NONE, more: NONE, first: undefined, rename };
    this.refs.of(ref).asset = made;
    this.provisional.add(made, asset);
    return made;
  }

  /** Sorted, each asset once: of equal ones, the first says what it is, and all where it is. */
  private merged(all: IdentifiedAsset[]): IdentifiedAsset[] {
    // Sorting leaves equal ones in the order in which they were told.
    all.sort((a, b) => order(a.id, b.id));
    const distinct: IdentifiedAsset[] = [];
    let last: IdentifiedAsset | undefined;
    let known: Set<string> | undefined;
    for (const asset of all) {
      if (last?.id !== asset.id) {
        last = asset;
        known = undefined;
        distinct.push(asset);
        continue;
      }
      asset.first = last;
      const leads = this.growingOf(last);
      for (const lead of asset.leads) leads.push(lead);
      known ??= new Set(idsOf(placesIn(ownPlaces(last))));
      this.addPlaces(last, asset, known);
    }
    return distinct;
  }

  private growingOf(asset: IdentifiedAsset): DraftLead<IdentifiedAsset>[] {
    const known = this.growing.get(asset);
    if (known !== undefined) return known;
    const leads = [...asset.leads];
    asset.leads = leads;
    this.growing.set(asset, leads);
    return leads;
  }

  private addPlaces(to: IdentifiedAsset, from: IdentifiedAsset, known: Set<string>): void {
    for (const { id, bytes, start, end } of placesIn(ownPlaces(from))) {
      if (known.has(id)) continue;
      known.add(id);
      if (to.more.length === 0) to.more = [{ bytes, start, end }];
      else to.more.push({ bytes, start, end });
    }
  }

  private connect(assets: readonly IdentifiedAsset[]): void {
    for (const ref of this.refs.values()) {
      if (ref.asset === undefined) continue;
      const { asset: identified, links } = ref;
      const asset = identified.first ?? identified;
      ref.asset = asset;
      if (links.length === 0) continue;
      const growing = this.growing.get(asset);
      if (growing !== undefined) for (const lead of links) growing.push(lead);
      // What is told of once has one name.
      else asset.leads = asset.leads.length === 0 ? links : [...asset.leads, ...links];
    }
    for (const asset of assets) {
      asset.edges = edgesOf(asset);
      asset.leads = NONE;
    }
    this.growing.clear();
  }
}

const NONE: never[] = [];

function rename(this: IdentifiedAsset, id: string): void {
  if (id === this.id) return;
  this.id = id;
  renameRows(this.stored, id);
}

function ownPlaces({ stored: { bytes, end: start, places: end } }: IdentifiedAsset): StoredPlaces {
  return { bytes, start, end };
}

function* idsOf(places: Iterable<{ readonly id: string }>): Generator<string> {
  for (const { id } of places) yield id;
}

function edgesOf(asset: IdentifiedAsset): readonly GraphEdge[] {
  const edges: GraphEdge[] = [];
  for (const { kind, to } of asset.leads)
    if (to.asset !== undefined && to.asset !== asset) edges.push({ kind, to: to.asset });
  return edges.length < 2 ? edges : eachOnce(edges);
}

/** In the order of kind and id. */
function eachOnce(edges: GraphEdge[]): GraphEdge[] {
  edges.sort((a, b) => order(a.kind, b.kind) || order(a.to.id, b.to.id));
  const isRepeated = ({ kind, to }: GraphEdge, index: number) =>
    kind === edges[index - 1]?.kind && to === edges[index - 1]?.to;
  return edges.some(isRepeated) ? edges.filter((edge, index) => !isRepeated(edge, index)) : edges;
}

interface Anonymous {
  readonly asset: DraftAsset;
  readonly leads: DraftLead<IdentifiedAsset>[];
}

/**
 * Anonymous assets that nothing tells apart are numbered in the order of their lines. What makes them themselves travels as
 * properties, so that an exported document gives them the same identity wherever it is read.
 */
function* identifiedAnonymous(
  anonymous: readonly Anonymous[],
  refs: DraftRefs<IdentifiedAsset>,
  scope: string,
): Generator<Anonymous & { readonly id: string; readonly look: string }> {
  // Before the first of them is known by its ref.
  const algorithms = new Map(anonymous.map((one) => [one, algorithmsOf(one, refs)]));
  const counts = new Map<string, number>();
  for (const one of anonymous.toSorted((a, b) => firstLine(a.asset) - firstLine(b.asset))) {
    const { asset, leads } = one;
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const identity = anonymousIdentity(asset, within, algorithms.get(one) ?? []);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    // One that states a fingerprint is told by that: its place is none of its facts.
    const isIdentified = given !== undefined || keyId(asset.component) !== undefined;
    const component = isIdentified ? asset.component : withScope(asset.component, within, ordinal);
    const [, , , facts, uses] = identity;
    const look = hashId('look', facts, uses);
    yield { asset: { ...asset, component }, leads, id: hashId('asset', ...identity, ordinal), look };
  }
}

/** Ids of what it uses, as far as that has an identity of its own. */
function algorithmsOf({ asset, leads }: Anonymous, refs: DraftRefs<IdentifiedAsset>): string[] {
  const identified = refs.of(asset.ref).links;
  const ids = [...leads, ...identified].map(({ to }) => to.asset?.id).filter((id) => id !== undefined);
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

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
