import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { StepName } from './rotation-state.js';

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
