import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A message from one module to another that has not been taken yet. */
@Entity('handover')
@Index('handover_due', ['topic', 'dueAt', 'id'])
export class InboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  topic: string;

  @Column('jsonb')
  body: unknown;

  /** W3C Trace Context of who handed it over; null outside of a trace. */
  @Column('text', { nullable: true })
  traceParent: string | null;

  /** It is not taken before this time: a lease while it is processed, a pause after a failure. */
  @Column('timestamptz', { default: () => 'now()' })
  dueAt: Date;

  @Column('int', { default: 0 })
  attempts: number;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
