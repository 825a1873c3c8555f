import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * How two assets hang together. `dependsOn` is use; `provides` is an offer and no use (CycloneDX 1.6, dependencies);
 * the others are the references inside `cryptoProperties`.
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

/** An edge of the graph, as one source tells it. */
@Entity('asset_relationship')
@Index('asset_relationship_to', ['toId', 'kind', 'fromId'])
export class AssetRelationship {
  @PrimaryColumn('uuid')
  fromId: string;

  @PrimaryColumn('text')
  kind: RelationshipKind;

  @PrimaryColumn('uuid')
  toId: string;

  @PrimaryColumn('uuid')
  sourceId: string;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;
}
