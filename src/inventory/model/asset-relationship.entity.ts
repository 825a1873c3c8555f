import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Kinds of relationships between two assets. `dependsOn` means that an asset uses the other asset; `provides` means that an asset offers the other asset
 * without using it (CycloneDX 1.6, dependencies). The remaining kinds are the references inside `cryptoProperties`. Rows store positions in this list as
 * bits, so new kinds must be appended.
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

/** An edge of the graph, as reported by one source. Both indexes include `kinds`, so that the graph is traversed with index-only scans. */
@Entity('asset_relationship')
@Index('asset_relationship_to', ['toId', 'fromId', 'kinds'])
export class AssetRelationship {
  @PrimaryColumn('uuid')
  fromId: string;

  @PrimaryColumn('uuid')
  toId: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  /** Bit mask of kinds, see `bitOf`. Included in the primary key. */
  @Column('smallint')
  kinds: number;
}

/*
 * Two assets are often related in more than one way. For example, a key refers to its algorithm in `algorithmRef` and in `dependencies`. A row stores all kinds
 * of an edge in one bit mask, because one row per kind would double the number of rows and index entries (docs/decisions/0064).
 */

/** bitOf returns the bit of a kind in `asset_relationship.kinds`, from its position in RELATIONSHIP_KINDS. */
export function bitOf(kind: RelationshipKind): number {
  return 1 << RELATIONSHIP_KINDS.indexOf(kind);
}

/** USES is the bit mask of the kinds in which one asset uses another: all kinds except `provides`. */
export const USES = RELATIONSHIP_KINDS.filter((kind) => kind !== 'provides').reduce(
  (mask, kind) => mask | bitOf(kind),
  0,
);

/** tellingUse returns the most specific kind of use that an edge has. A reference is more specific than `dependsOn`. */
export function tellingUse(mask: number): RelationshipKind {
  return RELATIONSHIP_KINDS.findLast((kind) => (mask & USES & bitOf(kind)) !== 0) ?? 'dependsOn';
}

/** anyOf returns SQL that tests whether an edge has one of the kinds. */
export function anyOf(kinds: string, mask: string | number): string {
  return `${kinds} & ${mask} <> 0`;
}

/** KINDS is SQL for a table of all kinds and their bits. */
export const KINDS = `(VALUES ${RELATIONSHIP_KINDS.map((kind) => `('${kind}', ${bitOf(kind)})`).join(', ')}) AS k (kind, bit)`;
