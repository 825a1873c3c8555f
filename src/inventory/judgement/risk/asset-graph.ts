import type { AssetKind } from '../../model/asset-kind.js';
import type { RelationshipKind } from '../../model/asset-relationship.entity.js';
import type { Traits } from './asset-traits.js';

export interface GraphAsset {
  readonly id: string;
  readonly kind: AssetKind;
  readonly name: string;
  readonly traits: Traits;
  /** Edges without duplicates, sorted by kind and id. */
  readonly edges: readonly GraphEdge[];
  /** Whether the asset was parsed from the bytes that identify it. */
  readonly isProven?: boolean;
}

/** GraphEdge is an outgoing edge of an asset. */
export interface GraphEdge {
  readonly kind: RelationshipKind;
  readonly to: GraphAsset;
}

/** AssetGraph contains the assets of one document and their edges. */
export class AssetGraph {
  private incoming: ReadonlyMap<GraphAsset, GraphEdge[]> | undefined;

  constructor(private readonly assets: readonly GraphAsset[]) {}

  has(is: (asset: GraphAsset) => boolean): boolean {
    return this.assets.some(is);
  }

  /** Returns the targets of the asset's edges of these kinds. */
  targets({ edges }: GraphAsset, ...kinds: RelationshipKind[]): GraphAsset[] {
    return ends(edges, kinds);
  }

  /** Returns the assets with an edge of one of these kinds to the asset. The index is rarely needed, so it is built on first use. */
  users(asset: GraphAsset, ...kinds: RelationshipKind[]): GraphAsset[] {
    this.incoming ??= reversed(this.assets);
    return ends(this.incoming.get(asset) ?? [], kinds);
  }
}

function ends(edges: readonly GraphEdge[], kinds: readonly RelationshipKind[]): GraphAsset[] {
  const found: GraphAsset[] = [];
  for (const { kind, to } of edges) if (kinds.includes(kind)) found.push(to);
  return found;
}

/** Returns the incoming edges by target. In each returned edge, `to` is the asset at the start of the original edge. */
function reversed(assets: readonly GraphAsset[]): Map<GraphAsset, GraphEdge[]> {
  const found = new Map<GraphAsset, GraphEdge[]>();
  for (const asset of assets)
    for (const { kind, to } of asset.edges) {
      const known = found.get(to);
      if (known === undefined) found.set(to, [{ kind, to: asset }]);
      else known.push({ kind, to: asset });
    }
  return found;
}
