import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AlertEventType } from './alert-events.js';

/** Something that people may want to hear of, written in the transaction that causes it; deleted when alerts have been made of it. */
@Entity('happening')
export class AlertEventRow {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  type: AlertEventType;

  @Column('text')
  subjectKind: string;

  @Column('text')
  subjectId: string;

  @Column('text')
  subjectName: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  @Column('int', { default: 1 })
  count: number;

  @Column('jsonb', { default: {} })
  facts: Record<string, string | number>;

  /** True when the condition has ended. */
  @Column('boolean', { default: false })
  over: boolean;
}
