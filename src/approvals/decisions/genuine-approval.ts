import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { Session } from '../../auth/model/session.entity.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import type { VotersOf } from '../groups/voters.js';
import type { Approval } from '../model/approval.entity.js';
import type { ApprovalRequirement } from '../policies/policy-evaluation.js';

/**
 * Who may vote on an approval in its present stage, by the entry that the service wrote when the approval was requested. The row could have been
 * changed in the database.
 *
 * @throws Problem `approval.mismatch` if row and entry differ
 */
export async function votersOf(tx: EntityManager, vouched: VouchedEntries, approval: Approval): Promise<VotersOf> {
  const entries = await vouched.about(tx, [approval.id], ['approval.requested', 'approval.extended']);
  const asked = entries.find(({ action }) => action === 'approval.requested');
  // The stages of an extension replace those of the entry before.
  const stages = (entries.at(-1)?.detail['stages'] ?? []) as ApprovalRequirement['stages'];
  const requesters = (asked?.detail['requesters'] ?? approval.requesters) as readonly string[];
  const groupId = stages[approval.stage]?.groupId;
  const isSame = asked?.detail['hash'] === approval.hash.toString('base64') && groupId === approval.groupId;
  if (!isSame || groupId === undefined) {
    const detail =
      'The approval differs from what the audit log has of it: it was changed in the database. Request it again.';
    throw new Problem('conflict', 'approval.mismatch', detail);
  }
  return { groupId, requesters: [...requesters, approval.ownerId], since: approval.createdAt };
}

/**
 * The entry of the audit log about the sign-in that opened the caller's session. A vote needs it, so that a session that was inserted into the
 * database, or restored after it ended, cannot vote.
 *
 * @returns the id of the entry
 * @throws Problem `approval.session-unknown`
 */
export async function signInOf(tx: EntityManager, vouched: VouchedEntries, { id, session }: Caller): Promise<string> {
  const row = await findTrusted(tx, Session, { id: session?.id ?? '' });
  if (row?.userId === id && row.endedAt === null) {
    const [signIn] = await vouched.signIns(tx, { userId: id, sessionId: row.id, openedAt: row.createdAt });
    const ended = await vouched.about(tx, [row.id], ['session.ended']);
    if (signIn !== undefined && ended.length === 0) return signIn.id;
  }
  const detail =
    'The audit log has no sign-in for this session, or says that the session ended. Sign in again to vote.';
  throw new Problem('forbidden', 'approval.session-unknown', detail);
}
