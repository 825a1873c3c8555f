import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ApprovalRequirement } from '../../../approvals/approvals.service.js';
import type { Actor, OrderedBy } from '../../../access/caller.js';
import type { RotationStatus } from './rotation-state.js';

/** The actor of everything that a rotation does by itself. */
export const ROTATION_ACTOR: Actor = { kind: 'system', id: 'ssh-rotation', name: 'ssh-rotation' };

/** Outbox topic and queue of the signals that targets are due. */
export const ROTATION_QUEUE = 'ssh-rotation';

/** Holders of the private half of the new key. */
export const NEW_CUSTODIES = ['service', 'hsm', 'human', 'host'] as const;
export type NewCustody = (typeof NEW_CUSTODIES)[number];

export interface RotationSettings {
  /** Time for which sshd accepts the new key before it is verified. */
  readonly verifySeconds: number;
  /** Time for which both keys are accepted once the holders have the new one. */
  readonly overlapSeconds: number;
  /** `halt`: a host that cannot be rotated stops everything; `skip`: the old key stays there, and the rotation ends as PARTIAL. */
  readonly onFailure: 'halt' | 'skip';
  /** Known places of the key that are not part of it stay as they are. */
  readonly leaveOthers: boolean;
  /** Files that a configuration management system claims are changed all the same. */
  readonly ignoreManagers: boolean;
  /** Hours of the day (UTC) in which hosts may be changed, `from` ≤ hour < `to`; over midnight when `from` is larger. */
  readonly window?: { readonly from: number; readonly to: number };
  /** Where the private key lies, for custody `host`. */
  readonly holder?: { readonly hostId: string; readonly account: string; readonly path: string };
}

/** The replacement of one SSH key by another, on every account that the old one opens. */
@Entity('ssh_rotation')
@Index('ssh_rotation_key', ['keyId'])
@Index('ssh_rotation_one_per_key', ['keyId'], { unique: true, where: 'finished_at IS NULL AND NOT dry_run' })
@Index('ssh_rotation_open', ['status'], { where: 'finished_at IS NULL' })
export class Rotation {
  @PrimaryColumn('uuid')
  id: string;

  /** The old key. */
  @Column('uuid')
  keyId: string;

  /** The new key; null until it is made. */
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

  /** The wave that may run. */
  @Column('int', { default: 0 })
  wave: number;

  @Column('jsonb')
  requestedBy: OrderedBy;

  @Column('text')
  ownerId: string;

  @Column('text')
  correlation: string;

  /** The approvals that the policies required when the rotation was ordered; null when none. */
  @Column('jsonb', { nullable: true })
  approvalDemand: ApprovalRequirement | null;

  @Column('uuid', { nullable: true })
  approvalId: string | null;

  /** Time from which the holders have the new key. */
  @Column('timestamptz', { nullable: true })
  promotedAt: Date | null;

  /** When the holder of the new key confirmed that it works. */
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
