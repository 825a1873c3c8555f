import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { OrderedBy } from '../../access/caller.js';
import type { RotationSettings } from '../rotation/model/rotation.entity.js';

/** RotationPolicy automatically rotates keys that exceed its age limit. */
@Entity('ssh_rotation_policy')
@Index('ssh_rotation_policy_name', ['name'], { unique: true })
@Index('ssh_rotation_policy_due', ['dueAt'])
export class RotationPolicy {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('int')
  maxAgeDays: number;

  /** Limits the policy to keys that belong to this owner. Null means all owners. */
  @Column('text', { nullable: true })
  keyOwner: string | null;

  /** Maximum number of rotations that the policy requests within an hour. */
  @Column('int')
  mostPerHour: number;

  @Column('jsonb')
  settings: Omit<RotationSettings, 'holder' | 'leaveOthers'>;

  /** Incremented by every change that a caller makes. */
  @Column('int', { default: 1 })
  version: number;

  /** Last author, on whose behalf the policy requests rotations. */
  @Column('jsonb')
  madeBy: OrderedBy;

  @Column('text')
  ownerId: string;

  /** Reason why the service paused the policy. Null while the policy is active. Changing the policy resumes it. */
  @Column('text', { nullable: true })
  pausedBecause: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Time of the next check. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;
}

/** HeldBackKey is a key that a policy should rotate but does not. The service reports the key once, and keeps the row as long as the reason persists. */
@Entity('ssh_rotation_held_back')
export class HeldBackKey {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  policyId: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  keyId: string;

  /** Problem code. */
  @Column('text')
  code: string;

  @Column('text')
  detail: string;

  /** Time at which the reason was first detected. */
  @Column('timestamptz', { default: () => 'now()' })
  since: Date;
}
