import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A hint that must follow a change: written in the change's transaction, deleted when the queue has it. */
@Entity('outbox_message')
@Index('outbox_message_topic', ['topic', 'id'])
export class OutboxMessage {
  @PrimaryColumn('uuid')
  id: string;

  /** Queue that the hint is for. */
  @Column('text')
  topic: string;

  /** Id of the row that waits for work. */
  @Column('uuid')
  subject: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
