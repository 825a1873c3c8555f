import type { RelationshipKind } from './asset-relationship.entity.js';

/** What a name stands for that components have within a document (`bom-ref`). It is there as soon as anything names it. */
export interface DraftRef<Asset = unknown> {
  readonly name: string;
  /** Undefined until the asset was read that is called so. */
  asset: Asset | undefined;
  /** What others tell of it; what it says of itself is with the asset. */
  links: DraftLead<Asset>[];
  /** A component is called so, whether it becomes an asset or not. */
  isComponent: boolean;
  isCryptographic: boolean;
  /** Which lists of the document have an item that is called so, as bits. */
  lists: number;
  /** How many links lead to it. */
  uses: number;
  /** Links of each kind to it, made once. */
  leads: DraftLead<Asset>[];
}

/** A link whose end may not have been read yet. */
export interface DraftLead<Asset = unknown> {
  readonly kind: RelationshipKind;
  readonly to: DraftRef<Asset>;
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
        leads: NONE,
      };
      this.all.set(name, ref);
    }
    return ref;
  }

  lead(kind: RelationshipKind, to: string): DraftLead<Asset> {
    const ref = this.of(to);
    ref.uses += 1;
    for (const lead of ref.leads) if (lead.kind === kind) return lead;
    const lead = { kind, to: ref };
    if (ref.leads.length === 0) ref.leads = [lead];
    else ref.leads.push(lead);
    return lead;
  }

  /** In the order in which they were met. */
  values(): Iterable<DraftRef<Asset>> {
    return this.all.values();
  }
}

/** Most are told nothing of, or one thing: they share an empty list, and an array that grows has room for sixteen more. */
export function addLink<Asset>(ref: DraftRef<Asset>, lead: DraftLead<Asset>): void {
  if (ref.links.length === 0) ref.links = [lead];
  else ref.links.push(lead);
}
