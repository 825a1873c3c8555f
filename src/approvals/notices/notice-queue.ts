import type { EntityManager } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { ApprovalNotice, type NoticeKind } from './approval-notice.entity.js';

/** Puts a notice in line, in the transaction of what it tells of. */
export async function putNotice(tx: EntityManager, approvalId: string, kind: NoticeKind): Promise<void> {
  await tx.insert(ApprovalNotice, { id: newId(), approvalId, kind });
}
