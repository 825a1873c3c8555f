import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../audit/entries/audit.service.js';
import type { Actor, Caller } from '../access/caller.js';
import { Problem } from '../platform/errors/problem.js';
import { peopleBehind } from '../auth/rights/secret-disclosures.js';
import { lockDue } from '../platform/work/claim.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { ApprovalRequesters } from './decisions/approval-requesters.js';
import {
  type ApprovalKind,
  POLICY_REVISION,
  type PolicySubject,
  policySubjectOf,
} from './policies/approval-subject.port.js';
import { APPROVALS_ACTOR, type ApprovalManifest, movedEntry, requestedEntry } from './decisions/approval-entries.js';
import { ApprovalExtension } from './decisions/approval-extension.js';
import { isApproved, type LoggedApproval } from './decisions/logged-approval.js';
import { LoggedApprovals } from './decisions/logged-approvals.js';
import { basisOf, lostRequester, type RequestBasis, type Requester } from './decisions/requester-standing.js';
import { textHash } from './model/approval-text.js';

export { approvalHash, textHash } from './model/approval-text.js';
export { isApproved, loggedApprovalIn } from './decisions/logged-approval.js';

import { ApprovalItem, Approval, endsAfter, isRequester, putNotice } from './model/approval.entity.js';
import {
  type ApprovalRequirement,
  type JointJudgement,
  type PolicyJudgement,
  PolicyEvaluation,
} from './policies/policy-evaluation.js';
import type { KeyUseToApprove, PolicyFacts } from './policies/key-use.port.js';

export type { ApprovalRequirement, PolicyJudgement, PolicyFacts, ApprovalManifest };

export interface ShownSubject {
  /** One-line description of the subject. */
  readonly title: string;
  /**
   * The complete document that the approval covers. The approval's hash covers the document's canonical JSON, so composing the document again must produce the
   * same JSON.
   */
  readonly shown: Record<string, unknown>;
  /** The parts of a composite subject, such as a batch. */
  readonly items?: { readonly ids: readonly string[]; readonly manifest: ApprovalManifest };
}

export interface ApprovalOrder extends ShownSubject {
  readonly id: string;
  readonly kind: ApprovalKind;
  readonly subjectId: string;
  readonly demand: ApprovalRequirement;
}

/** A subject that needs a new approval because its document has changed. */
interface RenewalOrder extends ShownSubject {
  readonly id: string;
  /** The key uses to evaluate under the current policies. */
  readonly uses: readonly KeyUseToApprove[];
}

/** UnheldRequest is a request that needs no approval. `keys` contains the names of the signing keys that the request uses. */
export interface UnheldRequest extends Requester {
  readonly basis: RequestBasis;
  readonly keys: readonly string[];
}

export interface KnownApproval {
  readonly id: string;
  readonly kind: ApprovalKind;
  readonly subjectId: string;
}

/** CoveringApproval is an approval with the subjects and the document that it covers. */
export interface CoveringApproval extends KnownApproval {
  /** IDs of the subjects that the approval covers. */
  readonly about: readonly string[];
  readonly hash: Buffer;
  /** The document of a batch as canonical JSON, because the document cannot be composed from a single subject. Null for other kinds of subjects. */
  readonly shown: string | null;
}

/** GrantedApproval is the state of an approval when its subject is about to be carried out. */
export interface GrantedApproval extends CoveringApproval {
  /** True if the approval is APPROVED and each stage has enough votes for `hash` from different people, according to both the rows and the audit log. */
  readonly granted: boolean;
  /** IDs of the entries that make up the history of a granted approval in the audit log. */
  readonly entries: readonly string[];
}

/**
 * ApprovalsService is the API for modules whose operations may need approval: it evaluates the policies, requests the approval, and checks the approval again
 * before the operation is carried out.
 */
@Injectable()
export class ApprovalsService {
  constructor(
    private readonly audit: AuditService,
    private readonly evaluation: PolicyEvaluation,
    private readonly logged: LoggedApprovals,
    private readonly requesters: ApprovalRequesters,
    private readonly extension: ApprovalExtension,
  ) {}

  /**
   * Evaluates the policies for a use of a key and returns the required approval, if any. The statement that acts on the result must check the result's
   * revision (POLICY_REVISION).
   */
  judge(...asked: Parameters<PolicyEvaluation['judge']>): Promise<PolicyJudgement> {
    return this.evaluation.judge(...asked);
  }

  /** Evaluates several uses that one approval would cover. */
  judgeAll(kind: PolicySubject, uses: readonly KeyUseToApprove[]): Promise<JointJudgement> {
    return this.evaluation.judgeAll(kind, uses);
  }

  /** Like `judgeAll`, with policies at least as new as the policies that the transaction sees. */
  judgeNow(tx: EntityManager, kind: PolicySubject, uses: readonly KeyUseToApprove[]): Promise<JointJudgement> {
    return this.evaluation.judgeNow(tx, kind, uses);
  }

  /** Reports whether a granted approval has fewer votes than the current policies require, counting only people who may still vote. */
  fallsShort(tx: EntityManager, id: string, demand: ApprovalRequirement | undefined): Promise<boolean> {
    return this.extension.fallsShort(tx, id, demand);
  }

  /**
   * Returns the reason why a granted approval could no longer be requested; undefined if the requester still has the right to request it.
   *
   * @param keys names of the signing keys that the request uses
   */
  lostGround(tx: EntityManager, id: string, keys: readonly string[] = []): Promise<Problem | undefined> {
    return this.extension.lostGround(tx, id, keys);
  }

  /** Like `lostGround`, for requests that need no approval. Returns one result per request, in order. */
  async lostRights(tx: EntityManager, requests: readonly UnheldRequest[]): Promise<(Problem | undefined)[]> {
    if (requests.length === 0) return [];
    const rights = await this.logged.latestRights();
    const lost: (Problem | undefined)[] = [];
    for (const { basis, keys, ...requester } of requests)
      lost.push(await lostRequester(tx, requester, rights, basis, keys));
    return lost;
  }

  /**
   * Requests the votes that a granted approval lacks, before its subject is carried out. Returns true if votes are missing, in which case the approval is
   * PENDING again. Existing votes still count.
   */
  reopen(tx: EntityManager, id: string, demand: ApprovalRequirement | undefined): Promise<boolean> {
    return this.extension.reopen(tx, id, demand);
  }

  /** Invalidates the cached policies, so that the next evaluation reads the policies again. Call this method after the policies have changed. */
  outdated(): void {
    this.evaluation.forget();
  }

  /** Checks, in the transaction that acts on an evaluation, that its revision is current. Throws Problem `approval.policies-changed`. */
  async assertCurrent(tx: EntityManager, revision: number): Promise<void> {
    const [row]: { revision: number }[] = await tx.query(`SELECT ${POLICY_REVISION} AS revision`);
    if (row?.revision === revision) return;
    this.outdated();
    throw new Problem(
      'conflict',
      'approval.policies-changed',
      'The approval policies changed while the request was being evaluated. Retry the request.',
    );
  }

  /** Verifies that the caller may open another approval. Throws Problem `approval.too-many-open` otherwise. */
  assertRoom(tx: EntityManager, caller: Pick<Caller, 'id' | 'ownerId' | 'identity'>): Promise<void> {
    return this.requesters.assertRoom(tx, caller);
  }

  /** Requests approval, in the transaction that writes the subject. Throws Problem `approval.too-many-open`. */
  async request(tx: EntityManager, caller: Caller, order: ApprovalOrder): Promise<void> {
    const { id, kind, subjectId, demand } = order;
    // A rotation requests its approval after its hosts were surveyed. The limit on open approvals was checked when the rotation was requested.
    if (kind !== 'ssh-rotation') await this.assertRoom(tx, caller);
    const requester = {
      ownerId: caller.ownerId,
      requesters: await peopleBehind(tx, caller),
      requestedBy: caller.id,
      requesterName: caller.name,
      correlation: caller.origin.requestId,
    };
    const { actor, source } = { actor: caller, source: caller.origin.address };
    await this.insert(
      tx,
      { id, subjectKind: kind, subjectId, ...demandOf(demand), ...requester, ...textOf(order) },
      order.items,
      { actor, source, basis: await basisOf(tx, caller) },
    );
  }

  /**
   * Requests a new approval under the current policies, with a new expiry, because the document has changed for a legitimate reason. Votes on the old approval
   * do not count for the new approval. The old approval becomes SUPERSEDED unless `isRest` is set, in which case the old approval remains valid for the parts
   * that are not requested again. If no policy demands approval any longer, the rules of the old approval apply.
   */
  async renew(tx: EntityManager, oldId: string, order: RenewalOrder, isRest = false): Promise<void> {
    const row = await tx.findOneOrFail(Approval, { where: { id: oldId }, lock: { mode: 'pessimistic_write' } });
    const { approval: old, logged } = await this.logged.asLogged(tx, row, await this.logged.signedRights());
    const { demand } = await this.evaluation.judgeNow(tx, policySubjectOf(old.subjectKind), order.uses);
    if (!isRest) await this.supersede(tx, old, order.id);
    const { subjectKind, subjectId, correlation } = old;
    const { ownerId, requesters, requestedBy, requesterName } = old;
    const asked = {
      subjectKind,
      subjectId,
      correlation,
      ownerId,
      requesters,
      requestedBy,
      requesterName,
      ...demandOf(demand ?? old),
      id: order.id,
      ...textOf(order),
    };
    await this.insert(tx, asked, order.items, { actor: APPROVALS_ACTOR, basis: logged.basis });
  }

  /** Locks an approval against votes. Returns undefined if the approval is not pending, or if another transaction holds the lock. */
  async holdPending(tx: EntityManager, id: string): Promise<KnownApproval | undefined> {
    const [row] = await lockDue<KnownApproval>(
      tx,
      {
        table: 'approval',
        columns: 't.id, t.subject_kind AS kind, t.subject_id AS "subjectId"',
        where: `id = $1 AND status = 'PENDING'`,
        order: 'id',
        limit: 1,
      },
      [id],
    );
    return row;
  }

  /**
   * Returns what an approval covers according to the audit log.
   *
   * @throws Problem `approval.mismatch` if the approval's row differs from the log
   */
  async coveringOf(tx: EntityManager, id: string): Promise<CoveringApproval> {
    const row = await tx.findOneByOrFail(Approval, { id });
    const { approval } = await this.logged.asLogged(tx, row, await this.logged.signedRights());
    const { subjectKind: kind, subjectId, hash } = approval;
    if (kind !== 'signing-batch') return { id, kind, subjectId, about: [subjectId], hash, shown: null };
    const items = await tx.findBy(ApprovalItem, { approvalId: id });
    const about = items.map((item) => item.subjectId);
    return { id, kind, subjectId, about, hash, shown: canonicalJson(await this.shownOf(tx, id)) };
  }

  /** Returns the stored document of an approval. */
  async shownOf(tx: EntityManager, id: string): Promise<Record<string, unknown>> {
    const [row]: { shown: string }[] = await tx.query(`SELECT shown FROM approval WHERE id = $1`, [id]);
    if (row === undefined) throw new Error(`approval ${id} has no row, although approvals are never deleted`);
    return JSON.parse(row.shown) as Record<string, unknown>;
  }

  private async supersede(tx: EntityManager, old: Approval, id: string): Promise<void> {
    const oldId = old.id;
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE approval SET status = 'SUPERSEDED', superseded_by = $2, group_id = NULL, decided_at = coalesce(decided_at, now())
       WHERE id = $1 AND status IN ('PENDING', 'APPROVED')`,
      [oldId, id],
    );
    await putNotice(tx, oldId, 'decided');
    if (moved !== 1) throw new Error(`approval ${oldId} cannot be renewed: its status is ${old.status}`);
    const { correlation, stage } = old;
    await this.audit.append(tx, [
      movedEntry(old, { status: 'SUPERSEDED', stage }, { actor: APPROVALS_ACTOR, correlation, source: '' }),
    ]);
  }

  /** Returns the approvals that cover the given subjects, with their current state. Subjects that never needed an approval are omitted. */
  async granted(tx: EntityManager, kind: PolicySubject, subjectIds: readonly string[]): Promise<GrantedApproval[]> {
    const rows: Omit<GrantedApproval, 'entries'>[] = await tx.query(
      `WITH asked AS (
         SELECT id, subject_id AS about FROM approval WHERE subject_kind = $1 AND subject_id = ANY($2::uuid[])
         UNION ALL SELECT approval_id, subject_id FROM approval_item WHERE subject_id = ANY($2::uuid[])),
       one AS (SELECT id, array_agg(about::text) AS about FROM asked GROUP BY id)
       SELECT a.id, a.subject_kind AS kind, a.subject_id AS "subjectId", one.about, a.hash,
         CASE a.subject_kind WHEN 'signing-batch' THEN a.shown END AS shown, a.status = 'APPROVED' AND NOT EXISTS (
         SELECT 1 FROM jsonb_array_elements(a.stages) WITH ORDINALITY AS s(stage, number) WHERE (s.stage ->> 'threshold')::int > (
           SELECT count(*) FROM approval_vote v WHERE v.approval_id = a.id AND v.stage = s.number - 1 AND v.decision = 'APPROVE'
             AND v.hash = a.hash AND ${COUNTS})) AS granted
       FROM one JOIN approval a ON a.id = one.id`,
      [kind, subjectIds],
    );
    const ids = rows.filter(({ granted }) => granted).map(({ id }) => id);
    if (ids.length === 0) return rows.map((row) => ({ ...row, entries: [] }));
    const logged = await this.logged.read(tx, ids, await this.logged.signedRights());
    // This check comes last, because the locks of the statements above keep triggers and views unchanged.
    await this.logged.assertDatabaseUnchanged(tx);
    return rows.map((row) => {
      const one = logged.get(row.id);
      return { ...row, granted: row.granted && isGrantedBy(one, row), entries: one?.entries ?? [] };
    });
  }

  private async insert(tx: EntityManager, asked: Asked, items: ShownSubject['items'], by: By): Promise<void> {
    const [first] = asked.stages;
    if (first === undefined) throw new Error('an approval must have at least one stage');
    const groupIds = asked.stages.map(({ groupId }) => groupId);
    const approval = { ...asked, status: 'PENDING' as const, stage: 0, groupId: first.groupId, groupIds };
    const values = { ...approval, createdAt: () => 'now()', ...endsAfter(asked.expiresInSeconds) };
    await tx.createQueryBuilder().insert().into(Approval).values(values).execute();
    if (items !== undefined)
      await tx.insert(
        ApprovalItem,
        items.ids.map((subjectId) => ({ approvalId: asked.id, subjectId })),
      );
    await putNotice(tx, asked.id, 'requested');
    const entry = { ...approval, manifest: items?.manifest, basis: by.basis };
    await this.audit.append(tx, [requestedEntry(entry, by.actor, by.source)]);
  }
}

/** Reports whether the row, which anyone with database access can change, matches the log, which only the service can write. */
function isGrantedBy(logged: LoggedApproval | undefined, { hash }: Pick<GrantedApproval, 'hash'>): boolean {
  return logged !== undefined && logged.hash === hash.toString('base64') && isApproved(logged);
}

/** SQL condition that is true if the person who cast the vote `v` did not request the approval `a`. */
const COUNTS = `NOT ${isRequester('v.user_id::text')}`;

interface By {
  readonly actor: Actor;
  readonly source?: string;
  readonly basis: RequestBasis | undefined;
}

type Asked = Omit<
  Approval,
  'status' | 'stage' | 'groupId' | 'groupIds' | 'createdAt' | 'expiresAt' | 'remindAt' | 'decidedAt' | 'supersededBy'
>;

function demandOf({ policies, stages, commentRequired, rejectThreshold, expiresInSeconds }: ApprovalRequirement) {
  return { policies, stages: [...stages], commentRequired, rejectThreshold, expiresInSeconds };
}

function textOf({ title, shown }: ShownSubject) {
  const text = canonicalJson(shown);
  return { title, shown: text, hash: textHash(text) };
}
