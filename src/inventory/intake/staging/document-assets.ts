import { truncate } from '../../../platform/text/truncate.js';
import { type RowBytes, rowsIn } from '../../../platform/database/copy-rows.js';
import {
  anonymousIdentity,
  hashId,
  ORDINAL_PROPERTY,
  ownIdentity,
  propertyOf,
  SCOPE_PROPERTY,
} from '../../model/asset-identity.js';
import { namedFacts } from '../../model/certificate-identity.js';
import type { CdxComponent, Draft, DraftAsset } from '../../model/document.js';
import { DraftRefs, type RefLink } from '../../model/draft-refs.js';
import type { GraphEdge } from '../../judgement/risk/asset-graph.js';
import { traitsOf } from '../../judgement/risk/asset-traits.js';
import { type IdentifiedAsset, MAX_PLACES, placesIn, renameRows, RowEncoder } from './asset-rows.js';
import { keyId, type KnownAssets, ProvisionalAssets } from './provisional-assets.js';
import type { Spelling } from './source-names.js';

/** DocumentAssets contains the assets of a document by identity: mentions of the same asset are merged, and links are resolved to assets. */
export class DocumentAssets {
  private readonly refs = new DraftRefs<IdentifiedAsset>();
  private readonly encoder: RowEncoder;
  /** Links from assets that the document mentions more than once. */
  private readonly joinedLinks = new Map<IdentifiedAsset, RefLink<IdentifiedAsset>[]>();
  /** Additional names that the document uses for an asset. */
  private readonly moreNames: Spelling[] = [];
  private readonly provisional: ProvisionalAssets;
  private contradictions = 0;
  private unsorted: IdentifiedAsset[] | undefined;
  private sorted: readonly IdentifiedAsset[] | undefined;

  /** @param source source of the document; the source name is part of the identity of assets without any other identity */
  constructor(
    private readonly draft: Draft,
    private readonly source: { readonly id: string; readonly name: string },
  ) {
    this.encoder = new RowEncoder(this.refs, source.id);
    this.provisional = new ProvisionalAssets(this.refs);
  }

  /**
   * Reads the document to its end and determines the identity of each asset.
   *
   * @param known looks up stored assets with an identity that was computed by the previous version
   * @throws Problem if the document is rejected
   */
  async identify(known: KnownAssets): Promise<void> {
    this.unsorted ??= this.discovered();
    await this.provisional.settle(known);
    this.all();
    const { shortened, placesLeftOut } = this.encoder;
    if (shortened > 0)
      this.warn(
        'component.shortened',
        `${shortened} components are too large and are kept without their largest descriptive members`,
      );
    if (placesLeftOut > 0)
      this.warn(
        'asset.places-left-out',
        `${placesLeftOut} occurrences are not listed: the maximum is ${MAX_PLACES} per asset and document`,
      );
  }

  private warn(code: string, detail: string): void {
    this.draft.warnings.push({ pointer: '', code, detail });
  }

  /** Returns the number of locations and edges in the document. Each location and each edge is stored as a row. */
  countRows(): number {
    let rows = 0;
    for (const asset of this.all()) {
      const { bytes, end: start, placesEnd: end } = asset.row;
      for (const _ of rowsIn({ bytes, start, end })) rows += 1;
      rows += asset.morePlaces.length + asset.edges.length;
    }
    return rows;
  }

  /**
   * Returns the assets in id order, so that transactions lock rows in the same order and the rows of one asset are adjacent in each table.
   *
   * @throws Problem if the document is rejected
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

  /** Returns each bom-ref with the id of its asset. */
  named(): [ref: string, id: string][] {
    this.all();
    const named: [string, string][] = [];
    for (const { name, asset } of this.refs.values()) if (asset !== undefined) named.push([name, asset.id]);
    return named;
  }

  /** Returns the names that the document uses for assets. @param isNew whether the document created the asset, which then has the name in the document */
  spellings(isNew: (id: string) => boolean): Spelling[] {
    // A plain component is identified by its name, so it has no other name.
    const known = this.all().filter(({ id, kind }) => kind !== 'component' && !isNew(id));
    return [...known.map(({ id: assetId, name }) => ({ assetId, name })), ...this.moreNames];
  }

  /** Returns the rows of all locations of an asset, without duplicates. */
  placesOf({ id, row: { bytes, end: start, placesEnd: end }, morePlaces }: IdentifiedAsset): readonly RowBytes[] {
    if (end > start) return morePlaces.length === 0 ? [{ bytes, start, end }] : [{ bytes, start, end }, ...morePlaces];
    return morePlaces.length === 0 ? [this.encoder.noPlace(id)] : morePlaces;
  }

  /** Releases the rows of all assets, which cannot be used afterwards. */
  release(): void {
    this.encoder.release();
  }

  /** Returns all mentions of assets in document order. */
  private discovered(): IdentifiedAsset[] {
    const { draft, refs } = this;
    const all: IdentifiedAsset[] = [];
    const anonymous: Anonymous[] = [];
    for (const asset of draft.assets(refs)) {
      const links = asset.links.map(({ kind, to }) => refs.linkTo(to, kind));
      const identity = ownIdentity(asset);
      if (identity === undefined) anonymous.push({ asset, links });
      else all.push(this.identified(asset, links, hashId('asset', ...identity)));
    }
    for (const { asset, links, id, look } of identifiedAnonymous(anonymous, refs, this.source.name)) {
      const made = this.identified(asset, links, id);
      this.provisional.addLook(made, look);
      all.push(made);
    }
    return all;
  }

  private identified(asset: DraftAsset, links: RefLink<IdentifiedAsset>[], id: string): IdentifiedAsset {
    const { ref, kind, component } = asset;
    const row = this.encoder.encode(id, asset);
    const traits = traitsOf(kind, component);
    const { name } = component;
    const made: IdentifiedAsset = {
      id,
      kind,
      name,
      traits,
      row,
      links,
      edges: NONE,
      morePlaces: NONE,
      first: undefined,
      stated: kind === 'certificate' ? statedFacts(component) : undefined,
      isReferring: false,
      isProven: asset.isProven === true,
      rename,
    };
    this.refs.of(ref).asset = made;
    this.provisional.add(made, asset);
    return made;
  }

  /** Sorts the assets and merges the mentions of each asset. The first mention describes the asset; all mentions contribute locations. */
  private merged(all: IdentifiedAsset[]): IdentifiedAsset[] {
    // The sort is stable, so mentions of the same asset remain in document order.
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
      this.noteContradiction(last, asset);
      // All facts about an algorithm are part of its identity. Different forms of the name are not part of the identity, although the forms may have different
      // meanings.
      if (!asset.isProven && (asset.kind !== 'algorithm' || asset.name !== last.name)) last.isProven = false;
      if (asset.name !== last.name) this.moreNames.push({ assetId: last.id, name: asset.name });
      const links = this.joinedLinksOf(last);
      for (const link of asset.links) links.push(link);
      known ??= new Set(idsOf(placesIn(ownPlaces(last))));
      this.addPlaces(last, asset, known);
    }
    return distinct;
  }

  private noteContradiction(first: IdentifiedAsset, second: IdentifiedAsset): void {
    if (first.stated === undefined || second.stated === undefined || first.stated === second.stated) return;
    if (this.contradictions === MAX_CONTRADICTIONS) return;
    this.contradictions += 1;
    const names = [first, second].map(({ name }) => JSON.stringify(truncate(name, 100))).join(' and ');
    const detail = `${names} have the same fingerprint but different subjects, issuers or validity periods; they are treated as one certificate with the first description`;
    this.draft.warnings.push({ pointer: '', code: 'certificate.contradictory', detail });
  }

  private joinedLinksOf(asset: IdentifiedAsset): RefLink<IdentifiedAsset>[] {
    const known = this.joinedLinks.get(asset);
    if (known !== undefined) return known;
    const links = [...asset.links];
    asset.links = links;
    this.joinedLinks.set(asset, links);
    return links;
  }

  private addPlaces(to: IdentifiedAsset, from: IdentifiedAsset, known: Set<string>): void {
    for (const { id, bytes, start, end } of placesIn(ownPlaces(from))) {
      if (known.has(id)) continue;
      if (known.size >= MAX_PLACES) {
        this.encoder.placesLeftOut += 1;
        continue;
      }
      known.add(id);
      if (to.morePlaces.length === 0) to.morePlaces = [{ bytes, start, end }];
      else to.morePlaces.push({ bytes, start, end });
    }
  }

  private connect(assets: readonly IdentifiedAsset[]): void {
    for (const ref of this.refs.values()) {
      if (ref.asset === undefined) continue;
      const { asset: identified, links } = ref;
      const asset = identified.first ?? identified;
      ref.asset = asset;
      if (links.length === 0) continue;
      const joined = this.joinedLinks.get(asset);
      if (joined !== undefined) for (const link of links) joined.push(link);
      // An asset that is mentioned only once has only one bom-ref.
      else asset.links = asset.links.length === 0 ? links : asset.links.concat(links);
    }
    for (const asset of assets) {
      asset.edges = edgesOf(asset);
      asset.links = NONE;
    }
    this.joinedLinks.clear();
  }
}

const NONE: never[] = [];
const MAX_CONTRADICTIONS = 100;

/** Returns a hash of subject, issuer and validity. Undefined if one of these facts is missing, because a missing fact contradicts no other description. */
function statedFacts(component: CdxComponent): string | undefined {
  const [, ...facts] = namedFacts(component);
  return facts.every((fact) => fact !== undefined) ? hashId(...facts) : undefined;
}

function rename(this: IdentifiedAsset, id: string): void {
  if (id === this.id) return;
  this.id = id;
  renameRows(this.row, id);
}

function ownPlaces({ row: { bytes, end: start, placesEnd: end } }: IdentifiedAsset): RowBytes {
  return { bytes, start, end };
}

function* idsOf(places: Iterable<{ readonly id: string }>): Generator<string> {
  for (const { id } of places) yield id;
}

function edgesOf(asset: IdentifiedAsset): readonly GraphEdge[] {
  const leadsAway = (link: RefLink<IdentifiedAsset>): link is LinkToAsset =>
    link.to.asset !== undefined && link.to.asset !== asset;
  // `map` allocates exactly the required size. A growing array would reserve space for sixteen more items.
  const edges = asset.links.filter(leadsAway).map(edgeOf);
  return edges.length < 2 ? edges : eachOnce(edges);
}

type LinkToAsset = RefLink<IdentifiedAsset> & { readonly to: { readonly asset: IdentifiedAsset } };

function edgeOf(link: LinkToAsset): GraphEdge {
  link.edge ??= { kind: link.kind, to: link.to.asset };
  return link.edge;
}

/** Sorts the edges by kind and id and removes duplicates. */
function eachOnce(edges: GraphEdge[]): GraphEdge[] {
  edges.sort((a, b) => order(a.kind, b.kind) || order(a.to.id, b.to.id));
  const isRepeated = ({ kind, to }: GraphEdge, index: number) =>
    kind === edges[index - 1]?.kind && to === edges[index - 1]?.to;
  return edges.some(isRepeated) ? edges.filter((edge, index) => !isRepeated(edge, index)) : edges;
}

interface Anonymous {
  readonly asset: DraftAsset;
  readonly links: RefLink<IdentifiedAsset>[];
}

/**
 * Numbers anonymous assets with identical facts in line order. The scope and the number are stored as properties, so that an asset keeps its identity when an
 * exported document is imported elsewhere.
 */
function* identifiedAnonymous(
  anonymous: readonly Anonymous[],
  refs: DraftRefs<IdentifiedAsset>,
  scope: string,
): Generator<Anonymous & { readonly id: string; readonly look: string }> {
  // Computed before the first anonymous asset is registered under its bom-ref, because only assets that can be identified without their location are
  // included.
  const algorithms = new Map(anonymous.map((one) => [one, algorithmsOf(one, refs)]));
  const counts = new Map<string, number>();
  for (const one of anonymous.toSorted((a, b) => firstLine(a.asset) - firstLine(b.asset))) {
    const { asset, links } = one;
    const within = propertyOf(asset.component, SCOPE_PROPERTY) ?? scope;
    const identity = anonymousIdentity(asset, within, algorithms.get(one) ?? []);
    const key = hashId(...identity);
    const given = propertyOf(asset.component, ORDINAL_PROPERTY);
    const ordinal = given === undefined ? (counts.get(key) ?? 0) : Number(given);
    counts.set(key, ordinal + 1);
    // An asset with a fingerprint is identified by the fingerprint, so the location is not part of its identity.
    const isIdentified = given !== undefined || keyId(asset.component) !== undefined;
    const component = isIdentified ? asset.component : withScope(asset.component, within, ordinal);
    const [, , , facts, uses] = identity;
    const look = hashId('look', facts, uses);
    yield { asset: { ...asset, component }, links, id: hashId('asset', ...identity, ordinal), look };
  }
}

/** Returns the ids of the assets that an anonymous asset uses, except for assets that cannot be identified without their location. */
function algorithmsOf({ asset, links }: Anonymous, refs: DraftRefs<IdentifiedAsset>): string[] {
  const identified = refs.of(asset.ref).links;
  const ids = [...links, ...identified].map(({ to }) => to.asset?.id).filter((id) => id !== undefined);
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
