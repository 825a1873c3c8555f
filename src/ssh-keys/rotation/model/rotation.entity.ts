import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalRequirement } from '../../../approvals/approvals.service.js';
import type { Actor, OrderedBy } from '../../../access/caller.js';
import type { RotationStatus } from './rotation-state.js';

/** ROTATION_ACTOR is the actor for all automatic rotation actions. */
export const ROTATION_ACTOR: Actor = { kind: 'system', id: 'ssh-rotation', name: 'ssh-rotation' };

/** ROTATION_QUEUE is the outbox topic and queue for signals about due targets. */
export const ROTATION_QUEUE = 'ssh-rotation';

/** NEW_CUSTODIES lists the possible holders of the new private key. */
export const NEW_CUSTODIES = ['service', 'hsm', 'human', 'host'] as const;
export type NewCustody = (typeof NEW_CUSTODIES)[number];

export interface RotationSettings {
  /** Number of seconds for which sshd accepts the new key before it is verified. */
  readonly verifySeconds: number;
  /** Number of seconds for which both keys are accepted after the holder has received the new key. */
  readonly overlapSeconds: number;
  /** `halt`: a host that cannot be rotated stops the whole rotation. `skip`: the host keeps the old key, and the rotation ends as PARTIAL. */
  readonly onFailure: 'halt' | 'skip';
  /** Whether known locations of the key that are not part of the rotation stay unchanged. */
  readonly leaveOthers: boolean;
  /** Whether files are changed even if a configuration management system manages them. */
  readonly ignoreManagers: boolean;
  /** Hours of the day (UTC) in which hosts may be changed: `from` ≤ hour < `to`. If `from` is larger, the window spans midnight. */
  readonly window?: { readonly from: number; readonly to: number };
  /** Location of the private key, for custody `host`. */
  readonly holder?: { readonly hostId: string; readonly account: string; readonly path: string };
}

/** Rotation is the replacement of one SSH key by another on every account to which the old key can log in. */
@Entity('ssh_rotation')
@Index('ssh_rotation_key', ['keyId'])
@Index('ssh_rotation_one_per_key', ['keyId'], { unique: true, where: 'finished_at IS NULL AND NOT dry_run' })
@Index('ssh_rotation_open', ['status'], { where: 'finished_at IS NULL' })
export class Rotation {
  @PrimaryColumn('uuid')
  id: string;

  /** ID of the old key. */
  @Column('uuid')
  keyId: string;

  /** ID of the new key. Null until the new key has been generated. */
  @Column('uuid', { nullable: true })
  nextKeyId: string | null;

  @Column('text')
  custody: NewCustody;

  @Column('boolean', { default: false })
  dryRun: boolean;

  @Column('text')
  status: RotationStatus;

  @Column('jsonb')
  settings: RotationSettings;

  /** Current wave. */
  @Column('int', { default: 0 })
  wave: number;

  @Column('jsonb')
  requestedBy: OrderedBy;

  @Column('text')
  ownerId: string;

  @Column('text')
  correlation: string;

  /** Approvals that the policies required when the rotation was requested. Null if no approval was required. */
  @Column('jsonb', { nullable: true })
  approvalDemand: ApprovalRequirement | null;

  @Column('uuid', { nullable: true })
  approvalId: string | null;

  /** Time at which the holder received the new key. */
  @Column('timestamptz', { nullable: true })
  promotedAt: Date | null;

  /** Time at which the holder of the new key confirmed that the key works. */
  @Column('timestamptz', { nullable: true })
  confirmedAt: Date | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text', { nullable: true })
  failureDetail: string | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;
}
