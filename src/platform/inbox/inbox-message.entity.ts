import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What one module has handed to another and that other has not taken yet. */
@Entity('handover')
@Index('handover_due', ['topic', 'dueAt', 'id'])
export class InboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  topic: string;

  @Column('jsonb')
  body: unknown;

  /** Nobody takes it before: a lease while somebody works on it, a pause after a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  @Column('int', { default: 0 })
  attempts: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
