import { Column, Entity, Index, PrimaryColumn, type EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';

/** Kinds of notices. `decided` covers every way in which an approval ended. */
export const NOTICE_KINDS = ['requested', 'reminder', 'decided'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A notice that is still to be sent: written in the transaction of its event, and turned into mails and webhooks by a worker. */
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

/** Records a notice, in the transaction of its event. */
export async function putNotice(tx: EntityManager, approvalId: string, kind: NoticeKind): Promise<void> {
  await tx.insert(ApprovalNotice, { id: newId(), approvalId, kind });
}
