import type { GraphAsset, GraphEdge } from '../risk/asset-graph.js';
import type { StoredAsset, StoredPlaces } from './asset-store.js';
import type { DraftLead } from '../model/draft-refs.js';

/** An asset of a document. */
export interface IdentifiedAsset extends GraphAsset {
  id: string;
  /** Gives it another id, as long as nothing was made of it. */
  rename(this: IdentifiedAsset, id: string): void;
  readonly stored: StoredAsset<IdentifiedAsset>;
  /** As the document has them, some more than once, until all assets are known: then there are `edges`. */
  leads: readonly DraftLead<IdentifiedAsset>[];
  edges: readonly GraphEdge[];
  /** What tells of the same again. */
  more: StoredPlaces[];
  /** The same asset, which was told of before. */
  first: IdentifiedAsset | undefined;
}
