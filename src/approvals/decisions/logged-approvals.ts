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
import type { Stage } from '../policies/policy-evaluation.js';

type Parties = Pick<Approval, 'ownerId' | 'requesters' | 'requestedBy' | 'requesterName'>;

/** An approval as the service wrote it into the log, whatever its row says now. */
export interface LoggedApproval {
  /** Base64. */
  readonly hash: unknown;
  readonly stages: readonly Stage[];
  /** When it was requested. */
  readonly since: Date;
  /** Undefined in entries of earlier versions. */
  readonly parties: Parties | undefined;
  /** Votes for it, oldest first, one of each person, without those of people who requested it. */
  readonly approvals: readonly { readonly person: string; readonly stage: unknown; readonly hasComment: boolean }[];
  /** Whether it ended without consent. */
  readonly hasEnded: boolean;
}

const ACTIONS = ['approval.requested', 'approval.extended', 'approval.approved', 'approval.decided'];
const VOTE_SCOPE = 'approvals:approve';

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

  /** Ids of the approvals that the signed log has as rejected, withdrawn, expired or replaced, also those whose entry was removed since it was read. */
  async refused(): Promise<ReadonlyMap<string, number>> {
    return (await this.ledger.signed()).refused;
  }

  /** @throws Problem `database.changed` */
  assertDatabaseUnchanged(tx: EntityManager): Promise<void> {
    return this.catalogue.assertUnchanged(tx);
  }

  /** The approvals with these ids that the log has. */
  async read(tx: EntityManager, ids: readonly string[]): Promise<Map<string, LoggedApproval>> {
    const entries = await this.vouched.about(tx, ids, ACTIONS);
    const byId = Map.groupBy(entries, ({ targetId }) => targetId);
    return new Map([...byId].flatMap(([id, about]) => loggedApproval(about)?.map((one) => [id, one] as const) ?? []));
  }

  /**
   * Who may vote on an approval in its present stage.
   *
   * @throws Problem `approval.mismatch` if row and log differ
   */
  async votersOf(tx: EntityManager, approval: Approval, rights: RightsHistory): Promise<VotersOf> {
    const logged = (await this.read(tx, [approval.id])).get(approval.id);
    const groupId = logged?.stages[approval.stage]?.groupId;
    const isSame = logged?.hash === approval.hash.toString('base64') && groupId === approval.groupId;
    if (logged === undefined || groupId === undefined || !isSame) throw mismatch();
    if (logged.hasEnded || rights.refused.has(approval.id)) throw mismatch();
    const { requesters, ownerId } = logged.parties ?? approval;
    return { groupId, requesters: [...requesters, ownerId, approval.ownerId], since: logged.since };
  }

  /** Who requested an approval. An approval that an earlier version requested has no parties in the log, and those of its row count. */
  async partiesOf(tx: EntityManager, approval: Approval): Promise<Parties> {
    const logged = (await this.read(tx, [approval.id])).get(approval.id);
    if (logged === undefined) throw mismatch();
    const { ownerId, requesters, requestedBy, requesterName } = logged.parties ?? approval;
    return { ownerId, requesters, requestedBy, requesterName };
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
function loggedApproval(about: readonly EntryRow[]): [LoggedApproval] | undefined {
  const requested = about.find(({ action }) => action === 'approval.requested');
  if (requested === undefined) return undefined;
  const { hash } = requested.detail;
  const same = about.filter(({ detail }) => detail['hash'] === hash);
  // The stages of an extension replace those of the entry before.
  const asked = same.findLast(({ action }) => action === 'approval.requested' || action === 'approval.extended');
  const parties = partiesIn(requested);
  const excluded = new Set([...(parties?.requesters ?? []), parties?.ownerId]);
  const approvals = new Map<string, LoggedApproval['approvals'][number]>();
  for (const { action, actorId: person, detail } of same) {
    if (action !== 'approval.approved' || approvals.has(person) || excluded.has(person)) continue;
    approvals.set(person, { person, stage: detail['stage'], hasComment: detail['comment'] !== undefined });
  }
  return [
    {
      hash,
      stages: (asked?.detail['stages'] ?? []) as Stage[],
      since: new Date(timeOfId(requested.id)),
      parties,
      approvals: [...approvals.values()],
      hasEnded: same.some(({ action, detail }) => action === 'approval.decided' && detail['to'] !== 'APPROVED'),
    },
  ];
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

function sessionUnknown(): Problem {
  const detail =
    'The audit log has no sign-in for this session, or says that the session ended. Sign in again to vote.';
  return new Problem('forbidden', 'approval.session-unknown', detail);
}

function rightsEnded(objection: string): Problem {
  const detail = `The audit log says that ${objection}, and the database says otherwise: an earlier row was put back. Sign in again, or ask an administrator.`;
  return new Problem('forbidden', 'approval.rights-ended', detail);
}
