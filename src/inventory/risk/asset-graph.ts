import type { AssetKind } from '../assets/asset-kind.js';
import type { CdxComponent } from '../ingest/draft.js';
import type { RelationshipKind } from '../relationships/asset-relationship.entity.js';

export interface GraphAsset {
  readonly id: string;
  readonly kind: AssetKind;
  readonly component: CdxComponent;
}

/** Assets and how they hang together, as far as a verdict looks: within one document, or around one stored asset. */
export class AssetGraph {
  private readonly assets = new Map<string, GraphAsset>();
  private readonly outgoing = new Map<string, { kind: RelationshipKind; id: string }[]>();
  private readonly incoming = new Map<string, { kind: RelationshipKind; id: string }[]>();

  add(asset: GraphAsset): void {
    this.assets.set(asset.id, asset);
  }

  link(from: string, kind: RelationshipKind, to: string): void {
    push(this.outgoing, from, { kind, id: to });
    push(this.incoming, to, { kind, id: from });
  }

  /** What the asset points at by these kinds of relationship. */
  targets(id: string, ...kinds: RelationshipKind[]): GraphAsset[] {
    return this.resolve(this.outgoing.get(id), kinds);
  }

  /** What points at the asset. */
  users(id: string, ...kinds: RelationshipKind[]): GraphAsset[] {
    return this.resolve(this.incoming.get(id), kinds);
  }

  private resolve(
    edges: { kind: RelationshipKind; id: string }[] | undefined,
    kinds: RelationshipKind[],
  ): GraphAsset[] {
    const found: GraphAsset[] = [];
    for (const { kind, id } of edges ?? []) {
      const asset = kinds.includes(kind) ? this.assets.get(id) : undefined;
      if (asset !== undefined) found.push(asset);
    }
    return found;
  }
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
