import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * How two assets hang together. `dependsOn` is use; `provides` is an offer and no use (CycloneDX 1.6, dependencies);
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

/** An edge of the graph, as one source tells it. Both indexes have `kinds` in them: the graph is walked without a look into the table. */
@Entity('asset_relationship')
@Index('asset_relationship_to', ['toId', 'fromId', 'kinds'])
export class AssetRelationship {
  @PrimaryColumn('uuid')
  fromId: string;

  @PrimaryColumn('uuid')
  toId: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  /** As relationship-mask.ts says; the primary key includes it. */
  @Column('smallint')
  kinds: number;
}
