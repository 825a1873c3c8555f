import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { StepName, TargetOutcome, TargetState } from './rotation-state.js';

/** A login name on a host. */
export type Account = Pick<RotationTarget, 'hostId' | 'account'>;

/** A file of a target as it was before the rotation. */
export interface TargetFile {
  readonly path: string;
  /** Account that it is changed as. */
  readonly as: string;
  /** Hexadecimal, before anything was changed. */
  readonly sha256: string;
  /** The options of each line of the old key. */
  readonly originals: readonly string[];
  /** The old key as it stood there: from its type to the end of the line. */
  readonly oldText: string;
}

/** The changes that a rotation makes to the files of a target, as found before the first change. */
export interface TargetPlan {
  readonly files: readonly TargetFile[];
  /** Unified diffs: `adds` of adding the new key alone, `result` of the whole rotation. */
  readonly diffs: readonly { readonly path: string; readonly adds: string; readonly result: string }[];
  /** `low` when sshd could not be asked which files it reads. */
  readonly confidence: 'high' | 'low';
  readonly warnings: readonly string[];
}

/** One account on one host. The lease gives it to one worker at a time; every write of that worker must show the fence of its claim. */
@Entity('ssh_rotation_target')
@Index('ssh_rotation_target_account', ['rotationId', 'hostId', 'account'], { unique: true })
@Index('ssh_rotation_target_due', ['dueAt'], { where: `outcome = 'OPEN'` })
@Index('ssh_rotation_target_check', ['checkAt'], { where: `outcome = 'OPEN' AND check_at IS NOT NULL` })
@Index('ssh_rotation_target_host', ['hostId', 'account'])
export class RotationTarget {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  rotationId: string;

  @Column('uuid')
  hostId: string;

  @Column('text')
  account: string;

  @Column('int')
  wave: number;

  @Column('text', { default: 'PLANNED' })
  state: TargetState;

  @Column('text', { default: 'OPEN' })
  outcome: TargetOutcome;

  /** Grows with every claim. */
  @Column('int', { default: 0 })
  fence: number;

  @Column('uuid', { nullable: true })
  worker: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** When the next step is due; null while the target waits for the others. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  /** When the new key is checked again; null outside of the overlap. Earlier versions read `dueAt` alone. */
  @Column('timestamptz', { nullable: true })
  checkAt: Date | null;

  /** Consecutive failed attempts. */
  @Column('int', { default: 0 })
  strikes: number;

  @Column('jsonb', { nullable: true })
  plan: TargetPlan | null;

  /** The files byte for byte as they were, sealed: JSON of path to base64. */
  @Column('bytea', { nullable: true, select: false })
  snapshot: Buffer | null;

  /** Time at which sshd stops accepting the old key. */
  @Column('timestamptz', { nullable: true })
  oldEndsAt: Date | null;

  /** When the overlap ends: the old key is removed from then on. */
  @Column('timestamptz', { nullable: true })
  overlapEndsAt: Date | null;

  /** A person asked to write the line of the new key again (`retry` after the hand-over). */
  @Column('boolean', { nullable: true })
  restoreNext: boolean | null;

  @Column('timestamptz', { nullable: true })
  verifiedAt: Date | null;

  @Column('text', { nullable: true })
  failureCode: string | null;

  @Column('text', { nullable: true })
  failureDetail: string | null;

  @Column('timestamptz', { nullable: true })
  finishedAt: Date | null;

  /** When a scan found the old key again after its removal. */
  @Column('timestamptz', { nullable: true })
  driftedAt: Date | null;
}

export const STEP_OUTCOMES = ['STARTED', 'DONE', 'RETRY', 'FAILED'] as const;
export type StepOutcome = (typeof STEP_OUTCOMES)[number];

/** One attempt at one step: written before the host is touched, completed afterwards. STARTED for good: the worker died. */
@Entity('ssh_rotation_step')
@Index('ssh_rotation_step_target', ['targetId', 'id'])
export class RotationStep {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  targetId: string;

  @Column('int')
  fence: number;

  @Column('text')
  step: StepName;

  @Column('text', { default: 'STARTED' })
  outcome: StepOutcome;

  /** Hashes of the files before and after, and which key the host accepted or denied. Holds no secret. */
  @Column('jsonb', { default: {} })
  detail: Record<string, unknown>;

  @Column('timestamptz', { default: () => 'now()' })
  startedAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}
