import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { PolicyPack } from './policy-pack.js';

/** A custom policy pack. */
@Entity('policy_pack')
@Unique('policy_pack_name', ['name'])
export class PolicyPackRow {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('jsonb')
  pack: PolicyPack;

  @Column('int', { default: 1 })
  revision: number;

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}

/** A scope for which a custom policy pack has been checked and alert events have been recorded. */
@Entity('policy_scope')
export class PolicyScope {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'policy_scope_of_pack' })
  packId: string;

  /** SHA-256 of the query, because a query may exceed the size of an index key. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'policy_scope_of_pack' })
  digest: Buffer;

  /** Query that selects the assets in scope. */
  @Column('text')
  scope: string;
}

/** RequirementResult describes how well a requirement is met. */
export interface RequirementResult {
  readonly identifier: string;
  /** Number of assets to which the requirement applies; 0 for a manually assessed requirement. */
  readonly assets: number;
  readonly violations: number;
  /** IDs of a few assets that violate the requirement. */
  readonly examples: readonly string[];
  /**
   * Number of assets that do not violate the requirement yet, and the earliest date (YYYY-MM-DD, inclusive) until which the authority accepts one of the
   * assets.
   */
  readonly acceptedUntil?: { readonly assets: number; readonly first: string };
  /** Score from 0 to 1; null for a requirement that has not been assessed. */
  readonly score: number | null;
  readonly rationale: string;
}

export interface AttestationEvidence {
  readonly description: string;
  readonly url?: string;
}

/**
 * An attestation of the inventory's compliance with a policy pack as of a given date. The results contain the degree of compliance. Attestations are immutable.
 * A newer attestation replaces an older attestation.
 */
@Entity('attestation')
@Index('attestation_pack', ['packId', 'id'])
export class Attestation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  packId: string;

  /** Policy pack at the time of the attestation. */
  @Column('jsonb')
  pack: PolicyPack;

  /** Query that selects the assets; null for the whole inventory. */
  @Column('text', { nullable: true })
  scope: string | null;

  /** Day for which deadlines were evaluated. */
  @Column('date')
  asOf: string;

  @Column('jsonb')
  results: RequirementResult[];

  @Column('double precision')
  score: number;

  @Column('text')
  statement: string;

  @Column('text')
  reviewer: string;

  @Column('jsonb')
  evidence: AttestationEvidence[];

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
