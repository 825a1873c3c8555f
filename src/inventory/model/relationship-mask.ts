import { RELATIONSHIP_KINDS, type RelationshipKind } from './asset-relationship.entity.js';

/*
 * Two assets often hang together in more than one way: a key names its algorithm in `algorithmRef` and in `dependencies` as well. A row
 * has all kinds of its edge in one number, since a row of each would be twice the rows and index entries (docs/decisions/0064).
 */

/** The bit of a kind in `asset_relationship.kinds`: its place in RELATIONSHIP_KINDS. */
export function bitOf(kind: RelationshipKind): number {
  return 1 << RELATIONSHIP_KINDS.indexOf(kind);
}

/** What makes an edge a use: every kind but `provides`, which is an offer. */
export const USES = RELATIONSHIP_KINDS.filter((kind) => kind !== 'provides').reduce(
  (mask, kind) => mask | bitOf(kind),
  0,
);

/** Of the uses, the one that says most: a reference says more than `dependsOn`. */
export function tellingUse(mask: number): RelationshipKind {
  return RELATIONSHIP_KINDS.findLast((kind) => (mask & USES & bitOf(kind)) !== 0) ?? 'dependsOn';
}

/** SQL: whether an edge is of one of the kinds. */
export function anyOf(kinds: string, mask: string | number): string {
  return `${kinds} & ${mask} <> 0`;
}

/** SQL: a table of all kinds. */
export const KINDS = `(VALUES ${RELATIONSHIP_KINDS.map((kind) => `('${kind}', ${bitOf(kind)})`).join(', ')}) AS k (kind, bit)`;
