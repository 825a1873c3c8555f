/**
 * What a leaf is over. `entry`: an entry of the audit log. `record`: the record of a signature that an entry carries, by itself and in
 * the shape that sigstore's verifiers expect. `missing`: an entry that somebody removed before it was numbered. `foreign`: one that the service did not write.
 */
export type LeafKind = 'entry' | 'record' | 'missing' | 'foreign';

/** First line of an export of the log. */
export interface ExportHead {
  readonly log: string;
  /** SubjectPublicKeyInfo, DER, base64. */
  readonly publicKey: string;
  readonly size: number;
  /** Signed note over a tree of `size`. */
  readonly checkpoint: string;
}

/** Lines after the last leaf: entries of the table that are no leaves and do not wait to become one. The service leaves none so. */
export interface UnloggedEntry {
  readonly unlogged: { readonly id: string; readonly at: string; readonly action: string };
}

/** Every further line: a leaf, in order. */
export interface ExportedLeaf {
  readonly index: number;
  readonly kind: LeafKind;
  readonly entryId: string;
  /** Of the leaf as it was numbered, base64. */
  readonly hash: string;
  /** What the leaf is over, now; its canonical JSON are the leaf's bytes. null when it is gone. */
  readonly data: object | null;
}
