import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import type { PolicyPack } from './policy-pack.js';

/** A policy pack of the organisation. */
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

/** A part of the inventory that was checked against a policy pack of the organisation, and about which an alert event was recorded. */
@Entity('policy_scope')
export class PolicyScope {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'policy_scope_of_pack' })
  packId: string;

  /** SHA-256 of the query: a query may be longer than a key of an index. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'policy_scope_of_pack' })
  digest: Buffer;

  /** A query. */
  @Column('text')
  scope: string;
}

/** How far one requirement is met. */
export interface RequirementResult {
  readonly identifier: string;
  /** Assets that the requirement is about; 0 for one that a person judges. */
  readonly assets: number;
  readonly violations: number;
  /** Ids of some assets that violate it. */
  readonly examples: readonly string[];
  /** Assets that do not violate it yet: the authority accepts them to the end of a day, YYYY-MM-DD, the first of them until this one. */
  readonly acceptedUntil?: { readonly assets: number; readonly first: string };
  /** From 0 to 1; null for a requirement that has not been assessed. */
  readonly score: number | null;
  readonly rationale: string;
}

export interface AttestationEvidence {
  readonly description: string;
  readonly url?: string;
}

/** An attestation: how the inventory stood against a policy pack on a day. It is never changed; a newer one replaces it. */
@Entity('attestation')
@Index('attestation_pack', ['packId', 'id'])
export class Attestation {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  packId: string;

  /** As it was then. */
  @Column('jsonb')
  pack: PolicyPack;

  /** A query; null for the whole inventory. */
  @Column('text', { nullable: true })
  scope: string | null;

  /** The day for which deadlines were evaluated. */
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
