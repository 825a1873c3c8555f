import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Actor } from '../../access/caller.js';
import type { RotationSettings } from '../rotation/model/rotation.entity.js';

/** Keys that are older than this are rotated without anybody asking. */
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

  /** Of what people change. */
  @Column('int', { default: 1 })
  version: number;

  /** Who wrote it last: in their name it orders. */
  @Column('jsonb')
  madeBy: Actor;

  @Column('text')
  ownerId: string;

  /** Why the service paused it; null while it goes on. Whoever writes it again resumes it. */
  @Column('text', { nullable: true })
  pausedBecause: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** When it looks for keys next. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;
}
