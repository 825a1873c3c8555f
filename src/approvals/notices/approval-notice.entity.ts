import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What people are told of an approval: `decided` is whatever ended it. */
export const NOTICE_KINDS = ['requested', 'reminder', 'decided'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Somebody is to be told: written with what happened, so that it is not lost, and turned into mails and webhooks by a worker. */
@Entity('approval_notice')
@Index('approval_notice_waiting', ['id'], { where: 'told_at IS NULL' })
export class ApprovalNotice {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  approvalId: string;

  @Column('text')
  kind: NoticeKind;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;

  @Column('timestamptz', { nullable: true })
  toldAt: Date | null;
}
