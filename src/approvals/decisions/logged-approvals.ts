import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { Session } from '../../auth/model/session.entity.js';
import { CatalogueCheck } from '../../platform/catalogue/catalogue-check.js';
import { timeOfId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { type LoggedApproval, loggedApprovalIn } from './logged-approval.js';
import type { VotersOf } from '../groups/voters.js';
import type { Approval } from '../model/approval.entity.js';
import { textHash } from '../model/approval-text.js';

/** An approval whose facts are those of the log where the log has them. */
export interface ApprovalAsLogged {
  readonly approval: Approval;
  readonly logged: LoggedApproval;
}

/** For reading what an approval is about, whether it ended or is open. */
const NONE_REFUSED = { refused: new Map<string, number>() };
const CHANGED_TITLE = 'This approval was changed in the database';

const ACTIONS = [
  'approval.requested',
  'approval.extended',
  'approval.approved',
  'approval.rejected',
  'approval.decided',
];
/** The scope that a vote needs. */
export const VOTE_SCOPE = 'approvals:approve' as const;

/** LoggedApprovals reads what the audit log says about approvals, sign-ins and people. A vote counts by this: rows could have been changed in the database. */
@Injectable()
export class LoggedApprovals {
  constructor(
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
    private readonly catalogue: CatalogueCheck,
  ) {}

  /** What the log says about rights now. Problems are those of RightsLedger. */
  rights(): Promise<RightsHistory> {
    return this.ledger.current();
  }

  /** What the signed log says about rights, also by entries that were removed since they were read. */
  signedRights(): Promise<RightsHistory> {
    return this.ledger.signed();
  }

  /** @throws Problem `database.changed` */
  assertDatabaseUnchanged(tx: EntityManager): Promise<void> {
    return this.catalogue.assertUnchanged(tx);
  }

  /** The approvals with these ids that the log has. `rights` has those that ended, also when their entries were removed. */
  async read(
    tx: EntityManager,
    ids: readonly string[],
    { refused }: Pick<RightsHistory, 'refused'>,
  ): Promise<Map<string, LoggedApproval>> {
    const entries = await this.vouched.about(tx, ids, ACTIONS);
    const byId = Map.groupBy(entries, ({ targetId }) => targetId);
    return new Map(
      [...byId].flatMap(
        ([id, about]) => loggedApprovalIn(about, refused.has(id))?.map((one) => [id, one] as const) ?? [],
      ),
    );
  }

  /**
   * The approval with the rules, parties and title that the log has of it: columns of its row could have been changed.
   *
   * @throws Problem `approval.mismatch` if row and log are about different documents, or the log has the approval as ended
   */
  async asLogged(tx: EntityManager, row: Approval, rights: Pick<RightsHistory, 'refused'>): Promise<ApprovalAsLogged> {
    const logged = (await this.read(tx, [row.id], rights)).get(row.id);
    if (logged === undefined || logged.hasEnded || !isAbout(logged, row)) throw mismatch();
    return { approval: withLogged(row, logged), logged };
  }

  /**
   * Who may vote on an approval in a stage.
   *
   * @throws Problem `approval.mismatch` if the stage is not that of the row
   */
  votersOf({ approval, logged }: ApprovalAsLogged, { withdrawn }: RightsHistory, stage = approval.stage): VotersOf {
    const groupId = logged.rules.stages[stage]?.groupId;
    if (groupId === undefined || (stage === approval.stage && groupId !== approval.groupId)) throw mismatch();
    const requesters = [...approval.requesters, approval.ownerId];
    return { groupId, requesters, since: logged.since, withdrawn };
  }

  /**
   * The approvals as people are shown them: with title, requester and rules of the log. One whose row is about another document, or whose text is not that of
   * its hash, has neither title nor document.
   *
   * @param digests SHA-256 of the text of each, base64
   */
  async shownAs<Row extends Approval>(
    tx: EntityManager,
    rows: readonly Row[],
    digests: ReadonlyMap<string, string>,
  ): Promise<Row[]> {
    const known = await this.read(
      tx,
      rows.map(({ id }) => id),
      NONE_REFUSED,
    );
    return rows.map((row) => {
      const logged = known.get(row.id);
      const isSame =
        logged !== undefined && isAbout(logged, row) && digests.get(row.id) === row.hash.toString('base64');
      if (isSame) return Object.assign(row, withLogged(row, logged));
      return Object.assign(row, { title: CHANGED_TITLE, shown: '{}' });
    });
  }

  /** Verifies that the document that approvers see is the one of the hash. */
  async assertShown(tx: EntityManager, { id, hash }: Approval): Promise<void> {
    const [row]: { shown: string }[] = await tx.query(`SELECT shown FROM approval WHERE id = $1`, [id]);
    if (row === undefined || !textHash(row.shown).equals(hash)) throw mismatch();
  }

  /**
   * The entry about the sign-in that opened the caller's session, so that a session that was inserted into the database, or restored after it ended,
   * cannot vote.
   *
   * @returns the id of the entry
   * @throws Problem `approval.session-unknown`, `approval.rights-ended`
   */
  async signInOf(tx: EntityManager, rights: RightsHistory, { id, session }: Caller, groupId: string): Promise<string> {
    const row = await findTrusted(tx, Session, { id: session?.id ?? '' });
    if (row?.userId !== id || row.endedAt !== null) throw sessionUnknown();
    const [signIn] = await this.vouched.signIns(tx, { userId: id, sessionId: row.id, openedAt: row.createdAt });
    const ended = await this.vouched.about(tx, [row.id], ['session.ended']);
    if (signIn === undefined || ended.length > 0) throw sessionUnknown();
    const { detail } = signIn;
    const methods = detail['way'] === 'password' ? (detail['methods'] as readonly string[] | undefined) : undefined;
    const objection =
      rights.objectionTo({ id, session: row.id, groupId, scope: VOTE_SCOPE, at: Date.now() }) ??
      rights.objectionTo({ id, methods, at: timeOfId(signIn.id) });
    if (objection !== undefined) throw rightsEnded(objection);
    return signIn.id;
  }
}

function isAbout(logged: LoggedApproval, { hash, subjectKind, subjectId }: Approval): boolean {
  const isSame = logged.hash === hash.toString('base64');
  return isSame && logged.subjectKind === subjectKind && logged.subjectId === subjectId;
}

function withLogged(row: Approval, { title, rules, parties }: LoggedApproval): Approval {
  const text = typeof title === 'string' ? { title } : {};
  return Object.assign(row, rules, parties, text);
}

function mismatch(): Problem {
  const detail =
    'The approval differs from what the audit log has of it: it was changed in the database. Request it again.';
  return new Problem('conflict', 'approval.mismatch', detail);
}

function sessionUnknown(): Problem {
  const detail =
    'The audit log has no sign-in for this session, or says that the session ended. Sign in again to vote.';
  return new Problem('forbidden', 'approval.session-unknown', detail);
}

function rightsEnded(objection: string): Problem {
  const detail = `The audit log says that ${objection}, and the database says otherwise: an earlier row was put back. Sign in again, or ask an administrator.`;
  return new Problem('forbidden', 'approval.rights-ended', detail);
}
