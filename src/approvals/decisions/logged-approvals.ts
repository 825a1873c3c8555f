import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import type { EntryRow } from '../../audit/log/log-leaf.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { Session } from '../../auth/model/session.entity.js';
import { CatalogueCheck } from '../../platform/catalogue/catalogue-check.js';
import { timeOfId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { findTrusted } from '../../platform/sealing/sealed-rows.js';
import type { VotersOf } from '../groups/voters.js';
import type { Approval } from '../model/approval.entity.js';
import { textHash } from '../model/approval-text.js';
import type { Stage } from '../policies/policy-evaluation.js';
import type { RequestBasis } from './requester-standing.js';

type Parties = Pick<Approval, 'ownerId' | 'requesters' | 'requestedBy' | 'requesterName'>;
type Rules = Pick<Approval, 'policies' | 'stages' | 'commentRequired' | 'rejectThreshold' | 'expiresInSeconds'>;

/** An approval as the service wrote it into the log, whatever its row says now. */
export interface LoggedApproval {
  /** Base64. */
  readonly hash: unknown;
  readonly title: unknown;
  readonly subjectKind: unknown;
  readonly subjectId: unknown;
  /** Absent members: an earlier version did not log them. */
  readonly rules: Partial<Rules> & Pick<Rules, 'stages'>;
  /** When it was requested. */
  readonly since: Date;
  /** When the time to decide ends, in milliseconds. */
  readonly endsAt: number;
  /** Undefined in entries of earlier versions. */
  readonly parties: Parties | undefined;
  /** What the request was allowed by. Undefined in entries of earlier versions. */
  readonly basis: RequestBasis | undefined;
  /** Votes that count by the rules of their time, oldest first, one of each person, without those of people who requested it. */
  readonly approvals: readonly { readonly person: string; readonly stage: unknown; readonly hasComment: boolean }[];
  /** People who rejected it. */
  readonly rejections: ReadonlySet<string>;
  /** Whether it ended without consent. */
  readonly hasEnded: boolean;
}

/** An approval whose facts are those of the log where the log has them. */
export interface ApprovalAsLogged {
  readonly approval: Approval;
  readonly logged: LoggedApproval;
}

/** For reading what an approval is about, whether it ended or is open. */
const NONE_REFUSED = { refused: new Map<string, number>() };
const CHANGED_TITLE = 'This approval was changed in the database';

/** Time between two processes that vote at the end of an approval: their clocks and the statement. */
const END_TOLERANCE_MS = 10_000;
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
        ([id, about]) => loggedApproval(about, refused.has(id))?.map((one) => [id, one] as const) ?? [],
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
  votersOf({ approval, logged }: ApprovalAsLogged, stage = approval.stage): VotersOf {
    const groupId = logged.rules.stages[stage]?.groupId;
    if (groupId === undefined || (stage === approval.stage && groupId !== approval.groupId)) throw mismatch();
    return { groupId, requesters: [...approval.requesters, approval.ownerId], since: logged.since };
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

/** Undefined for entries without a request. In a list, so that callers can flatten it. */
function loggedApproval(about: readonly EntryRow[], isRefused: boolean): [LoggedApproval] | undefined {
  const requested = about.find(({ action }) => action === 'approval.requested');
  if (requested === undefined) return undefined;
  const { hash, title, subject, subjectId } = requested.detail;
  const same = about.filter(({ detail }) => detail['hash'] === hash);
  const parties = partiesIn(requested);
  const excluded = new Set([...(parties?.requesters ?? []), parties?.ownerId]);
  const approvals = new Map<string, LoggedApproval['approvals'][number]>();
  const rejections = new Set<string>();
  let rules: LoggedApproval['rules'] = { stages: [] };
  let endsAt = Infinity;
  for (const { id, action, actorId: person, detail } of same) {
    // The rules of an extension replace those of the entry before.
    if (action === 'approval.requested' || action === 'approval.extended') {
      rules = rulesIn(detail);
      endsAt = timeOfId(id) + (rules.expiresInSeconds ?? Infinity) * 1000;
    } else if (action === 'approval.rejected') rejections.add(person);
    else if (action === 'approval.approved') {
      const hasComment = detail['comment'] !== undefined;
      if (approvals.has(person) || excluded.has(person) || timeOfId(id) > endsAt + END_TOLERANCE_MS) continue;
      if (rules.commentRequired !== true || hasComment)
        approvals.set(person, { person, stage: detail['stage'], hasComment });
    }
  }
  const isDecidedAgainst = same.some(
    ({ action, detail }) => action === 'approval.decided' && detail['to'] !== 'APPROVED',
  );
  const isRejected = rejections.size >= (rules.rejectThreshold ?? Infinity);
  return [
    {
      hash,
      title,
      subjectKind: subject,
      subjectId,
      rules,
      since: new Date(timeOfId(requested.id)),
      endsAt,
      parties,
      basis: requested.detail['basis'] as RequestBasis | undefined,
      approvals: [...approvals.values()],
      rejections,
      hasEnded: isRefused || isDecidedAgainst || isRejected,
    },
  ];
}

function rulesIn({ policies, stages, ...detail }: EntryRow['detail']): LoggedApproval['rules'] {
  const { commentRequired, rejectThreshold, expiresInSeconds } = detail;
  return {
    stages: (stages ?? []) as Stage[],
    ...(Array.isArray(policies) ? { policies: policies as Rules['policies'] } : {}),
    ...(typeof commentRequired === 'boolean' ? { commentRequired } : {}),
    ...(typeof rejectThreshold === 'number' ? { rejectThreshold } : {}),
    ...(typeof expiresInSeconds === 'number' ? { expiresInSeconds } : {}),
  };
}

function isAbout(logged: LoggedApproval, { hash, subjectKind, subjectId }: Approval): boolean {
  const isSame = logged.hash === hash.toString('base64');
  return isSame && logged.subjectKind === subjectKind && logged.subjectId === subjectId;
}

function withLogged(row: Approval, { title, rules, parties }: LoggedApproval): Approval {
  const text = typeof title === 'string' ? { title } : {};
  return Object.assign(row, rules, parties, text);
}

function partiesIn({ detail }: EntryRow): Parties | undefined {
  const { owner, requesters, requestedBy, requesterName } = detail;
  if (typeof owner !== 'string' || !Array.isArray(requesters)) return undefined;
  return {
    ownerId: owner,
    requesters: requesters.map(String),
    requestedBy: String(requestedBy),
    requesterName: String(requesterName),
  };
}

function mismatch(): Problem {
  const detail =
    'The approval differs from what the audit log has of it: it was changed in the database. Request it again.';
  return new Problem('conflict', 'approval.mismatch', detail);
}

/** @throws Problem `approval.expired` */
export function assertInTime({ endsAt }: LoggedApproval): void {
  if (Date.now() <= endsAt + END_TOLERANCE_MS) return;
  throw new Problem('conflict', 'approval.expired', 'The time to decide is over.');
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
