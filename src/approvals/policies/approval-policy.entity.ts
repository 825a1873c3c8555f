import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { PolicySubject } from '../subjects/approval-subject.port.js';
import type { Condition } from './policy-conditions.js';

export interface PolicyStage {
  readonly groupId: string;
  /** Different people of the group who must approve. */
  readonly threshold: number;
}

/** Who must approve what is done with which keys. Each change of the table counts approval_policy_revision up. */
@Entity('approval_policy')
export class ApprovalPolicy {
  @PrimaryColumn('uuid')
  id: string;

  @Index('approval_policy_name', { unique: true })
  @Column('text')
  name: string;

  @Column('text')
  subject: PolicySubject;

  /** Names; `*` is every key. */
  @Column('text', { array: true })
  keys: string[];

  /** All must hold for the policy to apply. */
  @Column('jsonb', { default: [] })
  conditions: Condition[];

  /** One after the other. */
  @Column('jsonb')
  stages: PolicyStage[];

  @Column('int')
  expiresInSeconds: number;

  @Column('boolean')
  commentRequired: boolean;

  /** So many rejections end it. */
  @Column('int')
  rejectThreshold: number;

  /** Counts the edits; the ETag. */
  @Column('int', { default: 1 })
  revision: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  updatedAt: Date;
}
