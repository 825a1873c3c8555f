import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { StepName, TargetOutcome, TargetState } from './rotation-state.js';

/** Account is a login name on a host. */
export type Account = Pick<RotationTarget, 'hostId' | 'account'>;

/** TargetFile describes a file of a target before the rotation. */
export interface TargetFile {
  readonly path: string;
  /** Account that changes the file. */
  readonly as: string;
  /** SHA-256 of the file before the first change, in hexadecimal. */
  readonly sha256: string;
  /** Options on each line that contains the old key. */
  readonly originals: readonly string[];
  /** Old key as written in the file, from the key type to the end of the line. */
  readonly oldText: string;
}

/** TargetPlan contains the changes that a rotation makes to the files of a target, as determined before the first change. */
export interface TargetPlan {
  readonly files: readonly TargetFile[];
  /** Unified diffs. `adds` contains only the addition of the new key, `result` the whole rotation. */
  readonly diffs: readonly { readonly path: string; readonly adds: string; readonly result: string }[];
  /** `high` if sshd itself reported which files it reads, otherwise `low`. */
  readonly confidence: 'high' | 'low';
  readonly warnings: readonly string[];
}

/** RotationTarget is one account on one host. One worker at a time holds the lease, and every write by that worker must include the fence of its claim. */
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

  /** Incremented with every claim. */
  @Column('int', { default: 0 })
  fence: number;

  @Column('uuid', { nullable: true })
  worker: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** Time at which the next step is due. Null while the target waits for other targets. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  /** Time at which the new key is checked next. Null outside the overlap. Earlier versions read only `dueAt`. */
  @Column('timestamptz', { nullable: true })
  checkAt: Date | null;

  /** Number of consecutive failed attempts. */
  @Column('int', { default: 0 })
  strikes: number;

  @Column('jsonb', { nullable: true })
  plan: TargetPlan | null;

  /** Original content of all files, sealed: a JSON object that maps paths to base64. */
  @Column('bytea', { nullable: true, select: false })
  snapshot: Buffer | null;

  /** Time at which sshd stops accepting the old key. */
  @Column('timestamptz', { nullable: true })
  oldEndsAt: Date | null;

  /** Time at which the overlap ends and the old key is removed. */
  @Column('timestamptz', { nullable: true })
  overlapEndsAt: Date | null;

  /** Whether a user requested that the line of the new key be restored (`retry` after the handover). */
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

  /** Time at which a scan found the old key again after its removal. */
  @Column('timestamptz', { nullable: true })
  driftedAt: Date | null;
}

export const STEP_OUTCOMES = ['STARTED', 'DONE', 'RETRY', 'FAILED'] as const;
export type StepOutcome = (typeof STEP_OUTCOMES)[number];

/**
 * RotationStep is one attempt at one step. The row is inserted before the host is contacted, and completed afterwards. A row that remains STARTED means that
 * the worker died.
 */
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

  /** File hashes before and after the step, and the keys that the host accepted or denied. Contains no secrets. */
  @Column('jsonb', { default: {} })
  detail: Record<string, unknown>;

  @Column('timestamptz', { default: () => 'now()' })
  startedAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;
}
