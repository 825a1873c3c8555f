import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { ActingPerson, RightsHistory } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { Session } from '../../auth/model/session.entity.js';
import { VOTE_SCOPE } from '../../auth/rights/group-membership.js';
import { CatalogueCheck } from '../../platform/sealing/catalogue-check.js';
import { timeOfId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import { type KnownOfApproval, type LoggedApproval, loggedApprovalIn } from './logged-approval.js';
import { votesAs, type VotersOf } from '../groups/voters.js';
import type { VoterSession } from './approval-entries.js';
import type { Approval } from '../model/approval.entity.js';
import { textHash } from '../model/approval-text.js';

/** ApprovalAsLogged is an approval with every logged fact taken from the audit log. */
export interface ApprovalAsLogged {
  readonly approval: Approval;
  readonly logged: LoggedApproval;
}

type KnownApprovals = Pick<RightsHistory, 'refused' | 'rejections' | 'extensions'>;
/** Argument of `read` for callers that do not need to know whether an approval has ended. */
const NOTHING_KNOWN: KnownApprovals = { refused: new Map(), rejections: new Map(), extensions: new Map() };
const CHANGED_TITLE = 'This approval was modified in the database';

const ACTIONS = [
  'approval.requested',
  'approval.extended',
  'approval.approved',
  'approval.rejected',
  'approval.decided',
];

/**
 * LoggedApprovals reads approvals, sign-ins and people from the audit log. Votes are counted from the log, because rows could have been modified
 * directly in the database.
 */
@Injectable()
export class LoggedApprovals {
  constructor(
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
    private readonly catalogue: CatalogueCheck,
  ) {}

  /** Returns the current rights according to the log. Throws the same Problems as RightsLedger. */
  rights(): Promise<RightsHistory> {
    return this.ledger.current();
  }

  /** Returns the rights according to the signed log, including entries that were removed after this process read them. */
  signedRights(): Promise<RightsHistory> {
    return this.ledger.signed();
  }

  /** Returns the current rights according to the log, without waiting until a new entry is signed. Throws the same Problems as RightsLedger. */
  latestRights(): Promise<RightsHistory> {
    return this.ledger.latest();
  }

  /** @throws Problem `database.changed` */
  assertDatabaseUnchanged(tx: EntityManager): Promise<void> {
    return this.catalogue.assertUnchanged(tx);
  }

  /** Returns the approvals in the log, by ID. `rights` supplies rejections, extensions and endings whose entries were removed after this process read them. */
  async read(tx: EntityManager, ids: readonly string[], rights: KnownApprovals): Promise<Map<string, LoggedApproval>> {
    const entries = await this.vouched.about(tx, ids, ACTIONS);
    const byId = Map.groupBy(entries, ({ targetId }) => targetId);
    return new Map(
      [...byId].flatMap(
        ([id, about]) => loggedApprovalIn(about, knownOf(rights, id))?.map((one) => [id, one] as const) ?? [],
      ),
    );
  }

  /**
   * Returns the approval with the rules, parties and title from the log, because columns of its row may have been modified directly in the database.
   *
   * @throws Problem `approval.mismatch` if the log does not contain the approval, records that the approval has ended, or contains a different document than
   *   the row
   */
  async asLogged(tx: EntityManager, row: Approval, rights: KnownApprovals): Promise<ApprovalAsLogged> {
    const logged = (await this.read(tx, [row.id], rights)).get(row.id);
    if (logged === undefined || logged.hasEnded || !isAbout(logged, row)) throw mismatch();
    return { approval: withLogged(row, logged), logged };
  }

  /**
   * Returns who may vote on an approval in a stage.
   *
   * @throws Problem `approval.mismatch` if the log does not contain the stage, or the row contains a different group for the current stage
   */
  votersOf(
    { approval, logged }: ApprovalAsLogged,
    { withdrawn, groups }: RightsHistory,
    stage = approval.stage,
  ): VotersOf {
    const groupId = logged.rules.stages[stage]?.groupId;
    // A decided approval has no current group.
    const current = stage === approval.stage && approval.groupId !== null ? approval.groupId : groupId;
    if (groupId === undefined || groupId !== current) throw mismatch();
    const requesters = [...approval.requesters, approval.ownerId];
    return { groupId, requesters, since: logged.since, withdrawn, added: groups.get(groupId)?.added ?? {} };
  }

  /**
   * Reports whether a person's vote in a stage still counts: the person may still vote as a member of the group, did not request the approval, and the rules of
   * the person's identity provider have not been narrowed since the vote.
   */
  async voteCounts(
    tx: EntityManager,
    asked: ApprovalAsLogged,
    { person, stage }: { readonly person: string; readonly stage: number },
    rights: RightsHistory,
  ): Promise<boolean> {
    const voters = this.votersOf(asked, rights, stage);
    if (voters.requesters.includes(person)) return false;
    const vote = asked.logged.approvals.find((one) => one.person === person);
    if (vote !== undefined && (rights.narrowed.get(String(vote.provider)) ?? 0) >= vote.at) return false;
    const membership = await votesAs(tx, person, voters);
    const acting = { id: person, groupId: voters.groupId, membership, scope: VOTE_SCOPE, at: Date.now() };
    return membership !== undefined && rights.objectionTo(acting) === undefined;
  }

  /**
   * Returns the approvals as shown to users, with the title, requester, rules and votes from the log. If the log contains a different document than
   * the row, or the text does not match the hash, the title is replaced with a notice and the document is empty.
   *
   * @param digests SHA-256 of the text of each approval by ID, base64
   */
  async shownAs<Row extends Approval>(
    tx: EntityManager,
    rows: readonly Row[],
    digests: ReadonlyMap<string, string>,
  ): Promise<(Row & Pick<LoggedApproval, 'votes' | 'manifest'>)[]> {
    const known = await this.read(
      tx,
      rows.map(({ id }) => id),
      NOTHING_KNOWN,
    );
    return rows.map((shown) => {
      const logged = known.get(shown.id);
      const row = Object.assign(shown, { votes: logged?.votes ?? [], manifest: logged?.manifest });
      const isSame =
        logged !== undefined && isAbout(logged, row) && digests.get(row.id) === row.hash.toString('base64');
      if (isSame) return Object.assign(row, withLogged(row, logged));
      return Object.assign(row, { title: CHANGED_TITLE, shown: '{}' });
    });
  }

  /** Verifies that the document that approvers see matches the hash of the approval. */
  async assertShown(tx: EntityManager, { id, hash }: Approval): Promise<void> {
    const [row]: { shown: string }[] = await tx.query(`SELECT shown FROM approval WHERE id = $1`, [id]);
    if (row === undefined || !textHash(row.shown).equals(hash)) throw mismatch();
  }

  /**
   * Returns the sign-in that opened the caller's session, so that a session that was inserted into the database directly, or restored after it ended,
   * cannot vote.
   *
   * @throws Problem `approval.session-unknown`, `approval.rights-ended`
   */
  async signInOf(
    tx: EntityManager,
    rights: RightsHistory,
    { id, session }: Caller,
    voter: Pick<ActingPerson, 'groupId' | 'membership'>,
  ): Promise<VoterSession> {
    const row = await findTrusted(tx, Session, { id: session?.id ?? '' });
    if (row?.userId !== id || row.endedAt !== null) throw sessionUnknown();
    const [signIn] = await this.vouched.signIns(tx, { userId: id, sessionId: row.id, openedAt: row.createdAt });
    const ended = await this.vouched.about(tx, [row.id], ['session.ended']);
    if (signIn === undefined || ended.length > 0) throw sessionUnknown();
    const { detail } = signIn;
    const methods = detail['way'] === 'password' ? (detail['methods'] as readonly string[] | undefined) : undefined;
    const objection =
      rights.objectionTo({ id, session: row.id, ...voter, scope: VOTE_SCOPE, at: Date.now() }) ??
      rights.objectionTo({ id, methods, at: timeOfId(signIn.id) });
    if (objection !== undefined) throw rightsEnded(objection);
    return { signIn: signIn.id, provider: row.providerId ?? undefined };
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
    'The approval differs from the audit log, because it was modified directly in the database. Submit the request again.';
  return new Problem('conflict', 'approval.mismatch', detail);
}

function sessionUnknown(): Problem {
  const detail =
    'The audit log does not contain the sign-in of this session, or the session has ended. Sign in again to vote.';
  return new Problem('forbidden', 'approval.session-unknown', detail);
}

function rightsEnded(objection: string): Problem {
  const detail = `According to the audit log, ${objection}. The database contains an earlier state that was restored outside the service. Sign in again, or contact an administrator.`;
  return new Problem('forbidden', 'approval.rights-ended', detail);
}

function knownOf({ refused, rejections, extensions }: KnownApprovals, id: string): KnownOfApproval {
  return { isRefused: refused.has(id), rejectedBy: rejections.get(id)?.people, extension: extensions.get(id) };
}
