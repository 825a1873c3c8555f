import { Entity, Index, PrimaryColumn } from 'typeorm';

/** One of many things that an approval releases together. What it is, the approval's `shown` says; this is how it is found from there. */
@Entity('approval_item')
@Index('approval_item_subject', ['subjectId'])
export class ApprovalItem {
  @PrimaryColumn('uuid')
  approvalId: string;

  @PrimaryColumn('uuid')
  subjectId: string;
}
