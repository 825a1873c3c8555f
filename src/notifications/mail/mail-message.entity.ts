import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** MailMessage is an email in the outbox. The email remains queued until the SMTP server accepts the email. */
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

  /** Plain-text body, sealed because the body may contain a secret link. Null after the email was sent or discarded. */
  @Column('bytea', { nullable: true })
  body: Buffer | null;

  /** HTML version of the body, sealed. Null after the email was sent or discarded. */
  @Column('bytea', { nullable: true })
  html: Buffer | null;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  /** Time after which the email is no longer sent. */
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

  /** Error message of the last attempt. */
  @Column('text', { nullable: true })
  failure: string | null;
}
