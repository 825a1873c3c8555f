import type { RelationshipKind } from './asset-relationship.entity.js';

/** A name that components have within a document (`bom-ref`), and what it stands for. It exists as soon as anything refers to it. */
export interface DraftRef<Asset = unknown> {
  readonly name: string;
  /** The asset of this name; undefined until it was read. */
  asset: Asset | undefined;
  /** Links from it that other parts of the document state (`dependencies`); those that it states itself are with the asset. */
  links: RefLink<Asset>[];
  /** Whether a component has this name, be it an asset or not. */
  isComponent: boolean;
  isCryptographic: boolean;
  /** Bits: the lists of the document that have an item of this name. */
  lists: number;
  /** Number of links that lead to it. */
  uses: number;
  /** The links that lead to it, one object for each kind. */
  incoming: RefLink<Asset>[];
}

/** A link to something that may not have been read yet. */
export interface RefLink<Asset = unknown> {
  readonly kind: RelationshipKind;
  readonly to: DraftRef<Asset>;
  /** The same to the asset of that name, one object for all that have this link; undefined until it is made. */
  edge: { readonly kind: RelationshipKind; readonly to: Asset } | undefined;
}

const NONE: never[] = [];

/** The names of one document, each once. */
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

  /** In the order in which they were met. */
  values(): Iterable<DraftRef<Asset>> {
    return this.all.values();
  }
}

/** Most names have no link or one: they share an empty list, since an array that grows reserves room for sixteen more. */
export function addLink<Asset>(ref: DraftRef<Asset>, link: RefLink<Asset>): void {
  if (ref.links.length === 0) ref.links = [link];
  else ref.links.push(link);
}
