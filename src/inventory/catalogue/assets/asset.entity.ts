import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ResolvedBy } from '../../model/risk-subject.js';
import type { Deadline, VerdictFacts } from '../../model/risk-verdict.js';
import type { AssetKind, AssetState } from '../../model/asset-kind.js';

/**
 * One cryptographic asset, regardless of where it was found. The id is a hash of the asset's identity (model/asset-identity.ts), so that a row can be found,
 * written and partitioned by id alone.
 */
@Entity('asset')
@Index('asset_name', ['name', 'id'])
@Index('asset_verdict', ['verdictId'])
@Index('asset_owner', ['owner', 'id'], { where: 'owner IS NOT NULL' })
@Index('asset_component', ['id'], { where: "kind = 'component'" })
@Index('asset_gone', ['id'], { where: "state <> 'active'" })
// The indexes are GIN indexes, which TypeORM cannot describe. The second index exists if the database has pg_trgm (search-indexes.ts).
@Index('asset_labels', { synchronize: false })
@Index('asset_name_text', { synchronize: false })
@Index('asset_not_after', ['notAfter', 'id'], { where: 'not_after IS NOT NULL' })
export class Asset {
  /** UUIDv8: the first 122 bits of the SHA-256 of the identity. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  kind: AssetKind;

  @Column('text')
  name: string;

  /** ID of the verdict, which is shared by all assets with the same facts. Null for a plain component. */
  @Column('uuid', { nullable: true })
  verdictId: string | null;

  /** Steps by which the algorithm of a key, certificate or protocol was resolved. */
  @Column('json', { nullable: true })
  resolvedBy: ResolvedBy[] | null;

  /** Start of the validity period of a certificate or key. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  @Column('timestamptz', { nullable: true })
  notAfter: Date | null;

  /** CycloneDX 1.6 component without bom-ref, evidence and secrets. References are asset ids. Exports contain the stored JSON unchanged. */
  @Column('json')
  component: Record<string, unknown>;

  /** Hash of the attributes that can change without changing the asset's identity. */
  @Column('uuid')
  content: string;

  /** Source that last raised the asset's risk. Null if the description comes from the source that has reported the asset for the longest time. */
  @Column('uuid', { nullable: true })
  describedBy: string | null;

  /**
   * Minimum risk level: the highest level that other owners reported before the describing source raised it. The describing source cannot set a lower level.
   * Null if there is no minimum.
   */
  @Column('int', { nullable: true })
  floorLevel: number | null;

  /**
   * Earliest end of validity in other owners' descriptions before the describing source changed the end. The describing source cannot set a later end. Null if
   * there is no maximum.
   */
  @Column('timestamptz', { nullable: true })
  floorNotAfter: Date | null;

  /**
   * Whether the description was read from the certificate itself, whose hash identifies the asset. A description read from the certificate is never replaced.
   */
  @Column('boolean', { default: false })
  proven: boolean;

  @Column('text', { default: 'active' })
  state: AssetState;

  /** Responsible team or person. Set by users, never by documents. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { array: true, default: () => `'{}'` })
  labels: string[];

  /** Version of owner and labels, for optimistic concurrency control. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}

/** JudgedAsset is an asset with the facts in its verdict, as in the view `judged_asset`. Unknown facts are null. */
export type JudgedAsset = Asset & { [Fact in keyof VerdictFacts]: VerdictFacts[Fact] | null } & {
  /** Source of `deadline`: its jurisdiction, authority and provision. */
  readonly deadlineBy: Deadline | null;
};
