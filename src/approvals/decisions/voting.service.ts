import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { peopleBehind } from '../../auth/rights/secret-disclosures.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { votesAs } from '../groups/voters.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { assertInTime, type LoggedApproval } from './logged-approval.js';
import { type ApprovalAsLogged, LoggedApprovals } from './logged-approvals.js';
import { ApprovalMoves } from './approval-moves.js';
import { voteEntry } from './approval-entries.js';
import { isDecided, Approval, ApprovalVote, type Decision } from '../model/approval.entity.js';

export interface Ballot {
  readonly decision: Decision;
  readonly comment: string | null;
  /** The hash of the document that the voter saw; absent if the client did not send it. */
  readonly hash?: Buffer;
}

/** VotingService records and counts votes. Votes on the same approval are serialized by a row lock. */
@Injectable()
export class VotingService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly moves: ApprovalMoves,
    private readonly logged: LoggedApprovals,
  ) {}

  async vote(caller: Caller, id: string, ballot: Ballot, use?: IdempotentUse): Promise<void> {
    // Fails early, before the audit log is read.
    found(await this.db.manager.findOneBy(Approval, { id }));
    assertPerson(caller);
    // Fails before the approval is locked if the log cannot be verified.
    await this.logged.rights();
    const approval = await this.db.transaction(async (tx) => {
      await this.logged.assertDatabaseUnchanged(tx);
      const voted = await this.cast(tx, caller, { id, ballot }, use);
      await this.logged.assertDatabaseUnchanged(tx);
      return voted;
    });
    if (approval !== undefined) this.moves.committed(approval);
  }

  /** Returns undefined if the Idempotency-Key was used before; the earlier vote counts. */
  private async cast(
    tx: EntityManager,
    caller: Caller,
    { id, ballot }: { readonly id: string; readonly ballot: Ballot },
    use: IdempotentUse | undefined,
  ): Promise<Approval | undefined> {
    const approval = await lock(tx, id);
    const earlier = await this.idempotency.earlier(tx, use);
    if (earlier !== undefined) return undefined;
    assertOpen(approval, await isLate(tx, approval));
    // Read after the lock, because the voter may have lost the right to vote while the vote waited.
    const rights = await this.logged.latestRights();
    const asked = await this.logged.asLogged(tx, approval, rights);
    assertInTime(asked.logged);
    assertNotVoted(asked.logged, caller.id);
    await this.logged.assertShown(tx, approval);
    const voters = this.logged.votersOf(asked, rights);
    // Anyone who knows a client's secret could vote with a person's token for the client, so a requester who knows the secret must not vote through the client.
    const behind = await peopleBehind(tx, caller);
    if (behind.some((one) => voters.requesters.includes(one))) throw ownRequest();
    const membership = await votesAs(tx, caller.id, voters);
    if (membership === undefined) throw notApprover();
    assertBallot(approval, ballot);
    const signIn = await this.logged.signInOf(tx, rights, caller, { groupId: voters.groupId, membership });
    const { decision, comment } = ballot;
    const { hash, stage } = approval;
    const vote = { approvalId: id, userId: caller.id, userName: caller.name, decision, stage, comment, hash };
    // According to the log the person has not voted, so an existing row was inserted directly in the database and is replaced.
    await tx.upsert(ApprovalVote, vote, ['approvalId', 'userId']);
    await this.audit.append(tx, [voteEntry(approval, { ...vote, at: new Date() }, caller, signIn)]);
    await this.count(tx, asked, vote, caller, rights);
    return approval;
  }

  private async count(
    tx: EntityManager,
    asked: ApprovalAsLogged,
    { decision, userName, comment }: Pick<ApprovalVote, 'decision' | 'userName' | 'comment'>,
    caller: Caller,
    rights: RightsHistory,
  ): Promise<void> {
    const { approval, logged } = asked;
    const by = { actor: caller, correlation: caller.origin.requestId, source: caller.origin.address };
    const rejections = logged.rejections.size;
    if (decision === 'REJECT') {
      if (rejections + 1 < approval.rejectThreshold) return;
      const reason = comment === null ? '.' : `: ${comment}`;
      const why = new Problem('refused', 'approval.rejected', `Rejected by ${userName}${reason}`);
      return this.moves.ended(tx, approval, 'REJECTED', why, by);
    }
    const counts = (person: string, stage: number) => this.logged.voteCounts(tx, asked, { person, stage }, rights);
    const others = logged.approvals.filter(({ person, stage }) => stage === approval.stage && person !== caller.id);
    const threshold = approval.stages[approval.stage]?.threshold ?? Infinity;
    let yes = 1;
    for (const { person } of others) if (await counts(person, approval.stage)) yes += 1;
    if (yes >= threshold)
      await this.moves.stagePassed(tx, approval, by, { rejections, counts, rights, basis: logged.basis });
  }
}

export async function lock(tx: EntityManager, id: string): Promise<Approval> {
  return found(await tx.findOne(Approval, { where: { id }, lock: { mode: 'pessimistic_write' } }));
}

function found(approval: Approval | null): Approval {
  if (approval !== null) return approval;
  throw missing('approval');
}

async function isLate(tx: EntityManager, { id }: Approval): Promise<boolean> {
  const [row]: { late: boolean }[] = await tx.query(
    `SELECT expires_at <= clock_timestamp() AS late FROM approval WHERE id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`approval ${id} has no row, although it is locked`);
  return row.late;
}

function assertPerson({ kind }: Caller): void {
  if (kind !== 'user')
    throw new Problem('forbidden', 'approval.person-needed', 'API keys and clients cannot vote. Sign in as a person.');
}

function ownRequest(): Problem {
  const detail =
    'You cannot vote on your own request, on a request made with a credential whose secret you have seen, or through a client whose secret a requester has seen. If you are not a requester, sign in to the service itself.';
  return new Problem('forbidden', 'approval.own-request', detail);
}

function notApprover(): Problem {
  return new Problem(
    'forbidden',
    'approval.not-approver',
    'You are not an approver in the current stage of this approval.',
  );
}

function assertOpen({ status }: Approval, late: boolean): void {
  if (status === 'EXPIRED' || (late && !isDecided(status)))
    throw new Problem('conflict', 'approval.expired', 'This approval has expired.');
  if (isDecided(status))
    throw new Problem(
      'conflict',
      'approval.decided',
      `The approval has already been decided: its status is ${status}.`,
    );
}

/** Checks the audit log, because vote rows may have been inserted directly into the database to prevent a person from voting. */
function assertNotVoted({ votes, rejections }: LoggedApproval, person: string): void {
  if (rejections.has(person) || votes.some(({ userId }) => userId === person))
    throw new Problem('conflict', 'approval.voted', 'You have already voted on this approval.');
}

function assertBallot({ hash, commentRequired }: Approval, ballot: Ballot): void {
  if (ballot.hash !== undefined && !ballot.hash.equals(hash))
    throw new Problem(
      'conflict',
      'approval.other-hash',
      'The document has changed since you reviewed it. Reload the approval and review it again.',
    );
  if (commentRequired && ballot.comment === null)
    throw new Problem(
      'refused',
      'approval.comment-required',
      'This policy requires a comment. Add a comment to your vote.',
    );
}
