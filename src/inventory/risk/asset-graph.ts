import type { AssetKind } from '../model/asset-kind.js';
import type { RelationshipKind } from '../model/asset-relationship.entity.js';
import type { Traits } from './asset-traits.js';

export interface GraphAsset {
  readonly id: string;
  readonly kind: AssetKind;
  readonly name: string;
  readonly traits: Traits;
  /** In the order of kind and id, each once. */
  readonly edges: readonly GraphEdge[];
}

/** An edge that leaves an asset. */
export interface GraphEdge {
  readonly kind: RelationshipKind;
  readonly to: GraphAsset;
}

/** The assets of one document and their edges. */
export class AssetGraph {
  private incoming: ReadonlyMap<GraphAsset, GraphEdge[]> | undefined;

  constructor(private readonly assets: readonly GraphAsset[]) {}

  has(is: (asset: GraphAsset) => boolean): boolean {
    return this.assets.some(is);
  }

  /** The targets of its edges of these kinds. */
  targets({ edges }: GraphAsset, ...kinds: RelationshipKind[]): GraphAsset[] {
    return ends(edges, kinds);
  }

  /** The assets with an edge of these kinds to it. The index is built when it is first needed, which is seldom. */
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

/** Incoming edges by target; each leads back to its start. */
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
