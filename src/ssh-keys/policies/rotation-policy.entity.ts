import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { OrderedBy } from '../../access/caller.js';
import type { RotationSettings } from '../rotation/model/rotation.entity.js';

/** A policy that rotates keys older than its limit automatically. */
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

  /** Only keys of this owner; null: of everybody. */
  @Column('text', { nullable: true })
  keyOwner: string | null;

  /** Rotations that it orders within an hour, at most. */
  @Column('int')
  mostPerHour: number;

  @Column('jsonb')
  settings: Omit<RotationSettings, 'holder' | 'leaveOthers'>;

  /** Incremented by every change that a caller makes. */
  @Column('int', { default: 1 })
  version: number;

  /** The last author, in whose name it orders. */
  @Column('jsonb')
  madeBy: OrderedBy;

  @Column('text')
  ownerId: string;

  /** Why the service paused it; null while it is active. A change of the policy resumes it. */
  @Column('text', { nullable: true })
  pausedBecause: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Time of the next check. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;
}

/** A key that a policy is due to rotate and does not. Reported once, and kept for as long as that is so. */
@Entity('ssh_rotation_held_back')
export class HeldBackKey {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  policyId: string;

  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'ssh_rotation_held_back_key' })
  keyId: string;

  /** Code of a Problem. */
  @Column('text')
  code: string;

  @Column('text')
  detail: string;

  /** When it was first found. */
  @Column('timestamptz', { default: () => 'now()' })
  since: Date;
}
