import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A mail that is to be sent: the row is the intent, it waits here however long the SMTP server is away. */
@Entity('mail_message')
@Index('mail_message_created', ['createdAt'])
@Index('mail_message_waiting', ['nextTryAt'], { where: 'sent_at IS NULL AND given_up_at IS NULL' })
export class MailMessage {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  recipient: string;

  @Column('text')
  subject: string;

  /** Sealed, because it may hold a link that is a secret; gone once it is sent. */
  @Column('bytea', { nullable: true })
  body: Buffer | null;

  /** The same for readers of HTML, sealed; gone once it is sent. */
  @Column('bytea', { nullable: true })
  html: Buffer | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Not sent after this time. */
  @Column('timestamptz')
  expiresAt: Date;

  @Column('int', { default: 0 })
  attempts: number;

  @Column('timestamptz', { default: () => 'now()' })
  nextTryAt: Date;

  @Column('timestamptz', { nullable: true })
  sentAt: Date | null;

  @Column('timestamptz', { nullable: true })
  givenUpAt: Date | null;

  /** Why the last attempt failed, in the SMTP server's words. */
  @Column('text', { nullable: true })
  failure: string | null;
}
