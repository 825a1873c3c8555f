import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ResolvedBy } from '../model/risk-subject.js';
import type { Deadline, VerdictFacts } from '../model/risk-verdict.js';
import type { AssetKind, AssetState } from '../model/asset-kind.js';

/**
 * One cryptographic asset, wherever it was seen. Its id is a hash of its identity (model/asset-identity.ts), so that every row can be found,
 * written and distributed by it alone.
 */
@Entity('asset')
@Index('asset_name', ['name', 'id'])
@Index('asset_verdict', ['verdictId'])
@Index('asset_owner', ['owner', 'id'], { where: 'owner IS NOT NULL' })
@Index('asset_component', ['id'], { where: "kind = 'component'" })
@Index('asset_gone', ['id'], { where: "state <> 'active'" })
// The two are GIN indexes, which TypeORM does not describe; the second one is there where the database has pg_trgm (search-indexes.ts).
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

  /** The verdict that it shares with every asset of the same facts. Null for a plain component. */
  @Column('uuid', { nullable: true })
  verdictId: string | null;

  /** How the algorithm of a key, certificate or protocol was found. */
  @Column('json', { nullable: true })
  resolvedBy: ResolvedBy[] | null;

  /** Validity of certificates and keys. */
  @Column('timestamptz', { nullable: true })
  notBefore: Date | null;

  @Column('timestamptz', { nullable: true })
  notAfter: Date | null;

  /** CycloneDX 1.6 component without bom-ref, evidence and secrets; references are asset ids. Its text goes into exports as it stands. */
  @Column('json')
  component: Record<string, unknown>;

  /** Hash of what may change while it stays the same asset. */
  @Column('uuid')
  content: string;

  /** The source that last made it worse; null: the source that has shown it for the longest time describes it. */
  @Column('uuid', { nullable: true })
  describedBy: string | null;

  /** Level in another owner's description before the describer made it worse. The describer cannot set a lower level. Null: no limit. */
  @Column('int', { nullable: true })
  floorLevel: number | null;

  /** Earliest end of validity in other owners' descriptions before the describer changed it. The describer cannot set a later end. Null: no limit. */
  @Column('timestamptz', { nullable: true })
  floorNotAfter: Date | null;

  @Column('text', { default: 'active' })
  state: AssetState;

  /** The team or person responsible. Set by people, never by documents. */
  @Column('text', { nullable: true })
  owner: string | null;

  @Column('text', { array: true, default: () => `'{}'` })
  labels: string[];

  /** Version of owner and labels, which people edit. */
  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  firstSeen: Date;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}

/** An asset with what its verdict says, as the view `judged_asset` shows it; null when nothing is known about it. */
export type JudgedAsset = Asset & { [Fact in keyof VerdictFacts]: VerdictFacts[Fact] | null } & {
  /** Jurisdiction of `deadline`. */
  readonly deadlineBy: Deadline | null;
};
