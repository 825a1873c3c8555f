import type { RelationshipKind } from './asset-relationship.entity.js';

/** DraftRef is a name (`bom-ref`) within a document, with its asset. A DraftRef exists as soon as any part of the document refers to the name. */
export interface DraftRef<Asset = unknown> {
  readonly name: string;
  /** Asset with this name; undefined until the asset is read. */
  asset: Asset | undefined;
  /** Links from the asset that are in other parts of the document (`dependencies`). Links in the asset itself are stored with the asset. */
  links: RefLink<Asset>[];
  /** Whether a component has this name, even if it is not an asset. */
  isComponent: boolean;
  isCryptographic: boolean;
  /** Bit mask of the lists in the document that contain an item with this name. */
  lists: number;
  /** Number of links to the name. */
  uses: number;
  /** Links to the name, one object for each kind. */
  incoming: RefLink<Asset>[];
}

/** RefLink is a link to a name that may not have been read yet. */
export interface RefLink<Asset = unknown> {
  readonly kind: RelationshipKind;
  readonly to: DraftRef<Asset>;
  /** Edge to the asset with the name, shared by all assets with this link; undefined until the edge is created. */
  edge: { readonly kind: RelationshipKind; readonly to: Asset } | undefined;
}

const NONE: never[] = [];

/** DraftRefs contains the names in one document, without duplicates. */
export class DraftRefs<Asset = unknown> {
  private readonly all = new Map<string, DraftRef<Asset>>();

  of(name: string): DraftRef<Asset> {
    let ref = this.all.get(name);
    if (ref === undefined) {
      ref = {
        name,
        asset: undefined,
        links: NONE,
        isComponent: false,
        isCryptographic: false,
        lists: 0,
        uses: 0,
        incoming: NONE,
      };
      this.all.set(name, ref);
    }
    return ref;
  }

  linkTo(name: string, kind: RelationshipKind): RefLink<Asset> {
    const ref = this.of(name);
    ref.uses += 1;
    for (const link of ref.incoming) if (link.kind === kind) return link;
    const link: RefLink<Asset> = { kind, to: ref, edge: undefined };
    if (ref.incoming.length === 0) ref.incoming = [link];
    else ref.incoming.push(link);
    return link;
  }

  /** Returns the names in the order in which the document first uses them. */
  values(): Iterable<DraftRef<Asset>> {
    return this.all.values();
  }
}

/**
 * addLink adds a link to a name. Most names have at most one link. Names without links share an empty list, and the first link creates an array with one item,
 * because an array that grows reserves space for sixteen more items.
 */
export function addLink<Asset>(ref: DraftRef<Asset>, link: RefLink<Asset>): void {
  if (ref.links.length === 0) ref.links = [link];
  else ref.links.push(link);
}
