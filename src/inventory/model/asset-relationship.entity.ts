import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * How two assets are related. `dependsOn` is use; `provides` is an offer and no use (CycloneDX 1.6, dependencies);
 * the others are the references inside `cryptoProperties`. Rows have places in this list as bits: new kinds go to its end.
 */
export const RELATIONSHIP_KINDS = [
  'dependsOn',
  'provides',
  'algorithm',
  'signatureAlgorithm',
  'subjectPublicKey',
  'securedBy',
  'cipherSuite',
  'cryptoRef',
] as const;
export type RelationshipKind = (typeof RELATIONSHIP_KINDS)[number];

/** An edge of the graph, as one source reports it. Both indexes include `kinds`: the graph is walked by index-only scans. */
@Entity('asset_relationship')
@Index('asset_relationship_to', ['toId', 'fromId', 'kinds'])
export class AssetRelationship {
  @PrimaryColumn('uuid')
  fromId: string;

  @PrimaryColumn('uuid')
  toId: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  /** Bits, by `bitOf`; the primary key includes it. */
  @Column('smallint')
  kinds: number;
}

/*
 * Two assets are often related in more than one way: a key names its algorithm in `algorithmRef` and in `dependencies` as well. A row
 * has all kinds of its edge in one number, since a row of each would be twice the rows and index entries (docs/decisions/0064).
 */

/** The bit of a kind in `asset_relationship.kinds`: its place in RELATIONSHIP_KINDS. */
export function bitOf(kind: RelationshipKind): number {
  return 1 << RELATIONSHIP_KINDS.indexOf(kind);
}

/** The kinds that make an edge a use: all but `provides`, which is an offer. */
export const USES = RELATIONSHIP_KINDS.filter((kind) => kind !== 'provides').reduce(
  (mask, kind) => mask | bitOf(kind),
  0,
);

/** The most specific use of an edge: a reference is more specific than `dependsOn`. */
export function tellingUse(mask: number): RelationshipKind {
  return RELATIONSHIP_KINDS.findLast((kind) => (mask & USES & bitOf(kind)) !== 0) ?? 'dependsOn';
}

/** SQL: whether an edge is of one of the kinds. */
export function anyOf(kinds: string, mask: string | number): string {
  return `${kinds} & ${mask} <> 0`;
}

/** SQL: a table of all kinds. */
export const KINDS = `(VALUES ${RELATIONSHIP_KINDS.map((kind) => `('${kind}', ${bitOf(kind)})`).join(', ')}) AS k (kind, bit)`;
