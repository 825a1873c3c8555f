import type { AssetKind } from '../assets/asset-kind.js';
import type { CdxComponent } from '../ingest/draft.js';
import type { RelationshipKind } from '../relationships/asset-relationship.entity.js';

export interface GraphAsset {
  readonly id: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
}

export interface GraphEdge {
  readonly fromId: string;
  readonly kind: RelationshipKind;
  readonly toId: string;
}

/** Assets and how they hang together, as far as a verdict looks: within one document, or around one stored asset. */
export class AssetGraph {
  private readonly outgoing: ReadonlyMap<string, GraphEdge[]>;
  private incoming: ReadonlyMap<string, GraphEdge[]> | undefined;

  constructor(
    private readonly assets: ReadonlyMap<string, GraphAsset>,
    private readonly edges: readonly GraphEdge[] = [],
  ) {
    this.outgoing = grouped(edges, ({ fromId }) => fromId);
  }

  /** What the asset points at by these kinds of relationship. */
  targets(id: string, ...kinds: RelationshipKind[]): GraphAsset[] {
    return this.resolve(this.outgoing.get(id), kinds, ({ toId }) => toId);
  }

  /** What points at the asset. Seldom asked for. */
  users(id: string, ...kinds: RelationshipKind[]): GraphAsset[] {
    this.incoming ??= grouped(this.edges, ({ toId }) => toId);
    return this.resolve(this.incoming.get(id), kinds, ({ fromId }) => fromId);
  }

  private resolve(
    edges: readonly GraphEdge[] | undefined,
    kinds: readonly RelationshipKind[],
    endOf: (edge: GraphEdge) => string,
  ): GraphAsset[] {
    const found: GraphAsset[] = [];
    for (const edge of edges ?? []) {
      const asset = kinds.includes(edge.kind) ? this.assets.get(endOf(edge)) : undefined;
      if (asset !== undefined) found.push(asset);
    }
    return found;
  }
}

/** Edges by one of their ends, in the order in which they come. */
export function grouped<Edge>(edges: Iterable<Edge>, endOf: (edge: Edge) => string): Map<string, Edge[]> {
  const groups = new Map<string, Edge[]>();
  for (const edge of edges) {
    const end = endOf(edge);
    const group = groups.get(end);
    if (group === undefined) groups.set(end, [edge]);
    else group.push(edge);
  }
  return groups;
}
