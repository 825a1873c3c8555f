import { Sealed, SealedEntity } from '../../platform/sealing/sealed-entity.js';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PolicySubject } from './approval-subject.port.js';

/** A condition on a fact: `format in authenticode`, `caller not-in 0194…`, `metadata.branch in release/*`, `verified.ref in refs/tags/v*`. */
export interface Condition {
  readonly fact: string;
  readonly op: 'in' | 'not-in';
  /** A value that ends in `*` is a prefix. Values of verified facts are patterns, see `claimMatches`. */
  readonly values: readonly string[];
}

export interface PolicyStage {
  readonly groupId: string;
  /** Number of different members of the group who must approve. */
  readonly threshold: number;
}

/** ApprovalPolicy defines who must approve which uses of which keys. Each change to a policy increments the revision in approval_policy_revision. */
@Entity('approval_policy')
@Sealed<ApprovalPolicy>({
  except: ['createdAt', 'updatedAt'],
})
export class ApprovalPolicy extends SealedEntity {
  @PrimaryColumn('uuid')
  id: string;

  @Index('approval_policy_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  subject: PolicySubject;

  /** Key names; `*` means all keys. */
  @Column('text', { array: true })
  keys: string[];

  /** Conditions that must all hold for the policy to apply. */
  @Column('jsonb', { default: [] })
  conditions: Condition[];

  /** Exceptions. The policy does not apply if there is at least one exception and all exceptions hold. */
  @Column('jsonb', { default: [] })
  unless: Condition[];

  /** Stages in order. */
  @Column('jsonb')
  stages: PolicyStage[];

  @Column('int')
  expiresInSeconds: number;

  @Column('boolean')
  commentRequired: boolean;

  /** Number of rejections that end the approval. */
  @Column('int')
  rejectThreshold: number;

  /** Incremented by each edit; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}

/** The content of a policy when it is created or changed. */
export type PolicyOrder = Pick<
  ApprovalPolicy,
  'name' | 'subject' | 'keys' | 'conditions' | 'unless' | 'expiresInSeconds' | 'commentRequired' | 'rejectThreshold'
> & {
  /** `group` is the ID or the name of an approver group. */
  readonly stages: readonly { readonly group: string; readonly threshold: number }[];
};

/**
 * ApprovalPolicyRevision is a single row with the revision of the whole set of policies, so that a statement can check whether an evaluation is still current.
 */
@Entity('approval_policy_revision')
@Sealed<ApprovalPolicyRevision>({
  except: [],
  list: {
    column: 'policies',
    now: `(SELECT coalesce(array_agg(p.id || ' ' || p.revision ORDER BY p.id), '{}') FROM approval_policy p)`,
  },
})
export class ApprovalPolicyRevision extends SealedEntity {
  @PrimaryColumn('boolean', { default: true })
  only: boolean;

  @Column('int', { default: 0 })
  revision: number;

  /**
   * ID and revision of each policy, in order, so that a policy deleted directly in the database is detected. Null under the same conditions as `User.factors`.
   */
  @Column('text', { array: true, nullable: true })
  policies: string[] | null;
}
