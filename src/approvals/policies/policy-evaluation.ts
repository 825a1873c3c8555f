import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { POLICY_REVISION, type PolicySubject } from './approval-subject.port.js';
import type { KeyUseToApprove } from './key-use.port.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { Problem } from '../../platform/errors/problem.js';
import type { RightsHistory } from '../../audit/history/rights-history.js';
import { hasSeveralIssuers } from '../../auth/workload/workload.repository.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { ApprovalPolicy, ApprovalPolicyRevision } from './approval-policy.entity.js';
import { assertPolicySet } from './policy-set.js';
import { jointVerdictOf, type PolicyVerdict, rulesForIssuers, verdictOf } from './policy-judgement.js';

export interface Stage {
  readonly groupId: string;
  /** Name of the group at the time of the request. */
  readonly group: string;
  readonly threshold: number;
  /** True if the stage replaces votes of people who have left the group. */
  readonly again?: true;
}

/** The combined requirement of all policies that apply: the stages to pass, the expiry, and the rules for votes. */
export interface ApprovalRequirement {
  readonly policies: readonly { readonly id: string; readonly name: string; readonly revision: number }[];
  readonly stages: readonly Stage[];
  readonly expiresInSeconds: number;
  readonly commentRequired: boolean;
  readonly rejectThreshold: number;
}

/**
 * Certainty is the required certainty of an evaluation. `provisional` accepts policies that could not be compared with the audit log, because `judgeNow`
 * evaluates the use again before the use is carried out.
 */
type Certainty = 'confirmed' | 'provisional';

/** The result of evaluating the policies of one revision. Without a demand, no approval is needed. */
export interface PolicyJudgement {
  readonly revision: number;
  readonly demand: ApprovalRequirement | undefined;
}

export interface JointJudgement extends PolicyJudgement {
  /** Whether each use requires approval, in the order of the uses. */
  readonly held: readonly boolean[];
}

/** The result of evaluating uses that one approval would cover, with the reasons. */
interface Trial {
  /** The required approval; undefined if none is needed. */
  readonly demand: Pick<ApprovalRequirement, 'stages'> | undefined;
  readonly verdicts: readonly {
    readonly policy: Pick<ApprovalPolicy, 'id' | 'name'>;
    readonly verdict: PolicyVerdict;
  }[];
}

interface Book {
  readonly revision: number;
  readonly policies: readonly ApprovalPolicy[];
  readonly groups: ReadonlyMap<string, string>;
  /** Reason why the policies could not be compared with the audit log; undefined after a successful comparison. */
  readonly doubt: Problem | undefined;
}

/** StoredSet is the set of policies in the database, with verified seals. */
interface StoredSet {
  readonly revision: number;
  readonly policies: readonly ApprovalPolicy[];
}

/** Compared is a set of policies after the comparison with the audit log, and the reason if the comparison was impossible. */
interface Compared {
  readonly stored: StoredSet;
  readonly doubt?: Problem;
}

/** Cache key: all policies are cached as one entry. */
const WHOLE = '*';

/** Time in milliseconds after a read during which transactions that see the same revision reuse the policies. */
const LAST_MS = 2500;
/** Maximum number of attempts to read policies that change while they are compared with the log. */
const MAX_READINGS = 5;

/**
 * PolicyEvaluation evaluates all policies for uses of keys, and caches the policies for a few seconds. A statement that acts on an evaluation checks
 * its revision (POLICY_REVISION). Policies that this process has not seen before are compared with the audit log, because seals do not reveal that
 * all policies were replaced with earlier ones.
 */
@Injectable()
export class PolicyEvaluation {
  private readonly book = new TtlCache<Book>(() => this.read());
  /** The newest revision that this process has read. An older revision in the database was restored outside the service. */
  private newest = 0;
  /** The most recently read policies, and the time until which transactions may use them. */
  private last: { readonly book: Book; readonly until: number } | undefined;
  /** Name (`nameOf`) of the policy set that was last confirmed by the log. */
  private confirmed: string | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly ledger: RightsLedger,
  ) {}

  async judge(kind: PolicySubject, use: KeyUseToApprove, certainty?: Certainty): Promise<PolicyJudgement> {
    const { revision, demand } = await this.judgeAll(kind, [use], certainty);
    return { revision, demand };
  }

  /**
   * Evaluates several uses that one approval covers. The demand combines the policies that apply to any of the uses.
   *
   * @throws Problem `approval-policy.changed`; also the Problems of RightsLedger if a use needs no approval and the policies could not be compared with the log
   */
  async judgeAll(
    kind: PolicySubject,
    uses: readonly KeyUseToApprove[],
    certainty: Certainty = 'confirmed',
  ): Promise<JointJudgement> {
    const book = await this.current();
    const judged = judgedBy(book, kind, uses);
    // A use that needs approval is evaluated again when the last vote is cast.
    if (book.doubt !== undefined && judged.held.includes(false) && certainty === 'confirmed') throw book.doubt;
    return judged;
  }

  /** Like `judgeAll`, with policies that were compared with the log and are at least as new as the policies that the transaction sees. */
  async judgeNow(tx: EntityManager, kind: PolicySubject, uses: readonly KeyUseToApprove[]): Promise<JointJudgement> {
    const [row]: { revision: number }[] = await tx.query(`SELECT ${POLICY_REVISION} AS revision`);
    const isKnown = this.last?.book.revision === row?.revision && performance.now() < (this.last?.until ?? 0);
    // Reads on the transaction's own connection, because many concurrent transactions could deadlock waiting for a second connection from the pool.
    const book = isKnown && this.last !== undefined ? this.last.book : await this.read(tx);
    if (book.doubt !== undefined) throw book.doubt;
    return judgedBy(book, kind, uses);
  }

  /** Evaluates uses like `judgeAll` and returns the reasons. No approval is requested. */
  async explain(kind: PolicySubject, uses: readonly KeyUseToApprove[]): Promise<Trial> {
    const book = await this.current();
    const verdicts = book.policies.map((policy) => ({ policy, verdict: jointVerdictOf(policy, kind, uses) }));
    const applying = verdicts.filter(({ verdict }) => verdict.applies).map(({ policy }) => policy);
    return { demand: applying.length === 0 ? undefined : joined(applying, book.groups), verdicts };
  }

  private async current(): Promise<Book> {
    const book = await this.book.find(WHOLE);
    if (book === null) throw new Error('the approval policies were not read');
    return book;
  }

  /**
   * Invalidates the cached policies, so that the next evaluation reads the policies again. This process then rejects policies older than `revision`, the
   * revision that this process committed.
   */
  forget(revision = 0): void {
    this.newest = Math.max(this.newest, revision);
    this.last = undefined;
    this.book.forget(WHOLE);
  }

  /** Returns the current rights according to the log, for `assertNewest`. Throws the same Problems as RightsLedger. */
  logged(): Promise<RightsHistory> {
    return this.ledger.latest();
  }

  /**
   * Verifies that the policies that a transaction sees are as new as the policies in the log. Without this check, a change to restored older policies would get
   * the revision of the policies in the log, and would be accepted.
   *
   * @throws Problem `approval-policy.changed`
   */
  async assertNewest(tx: EntityManager, logged: RightsHistory): Promise<void> {
    if (sealsOf(tx).demandsSealOf(ApprovalPolicyRevision) && isBefore(await this.stored(tx), logged))
      throw rolledBack();
  }

  private async read(db: EntityManager = this.db.manager): Promise<Book> {
    const { stored, doubt } = await this.latest(db);
    const { revision } = stored;
    this.newest = revision;
    const isAmbiguous = await hasSeveralIssuers(db);
    const policies = stored.policies.map((policy) =>
      isAmbiguous ? Object.assign(new ApprovalPolicy(), policy, rulesForIssuers(policy)) : policy,
    );
    const ids = policies.flatMap(({ stages }) => stages.map(({ groupId }) => groupId));
    const groups: { id: string; name: string }[] =
      ids.length === 0 ? [] : await db.query(`SELECT id, name FROM approver_group WHERE id = ANY($1::uuid[])`, [ids]);
    const book = { revision, policies, groups: new Map(groups.map(({ id, name }) => [id, name])), doubt };
    if (doubt === undefined) this.last = { book, until: performance.now() + LAST_MS };
    return book;
  }

  /**
   * Reads and compares the policies. Reads them again if this process committed or read a newer revision in the meantime.
   *
   * @throws Problem `approval-policy.changed` if the policies are older than those that this process knew before it read them
   */
  private async latest(db: EntityManager): Promise<Compared> {
    for (let reading = 1; reading <= MAX_READINGS; reading += 1) {
      const known = this.newest;
      const compared = await this.compared(db, await this.stored(db));
      const { revision } = compared.stored;
      if (revision < known) throw rolledBack();
      if (revision >= this.newest) return compared;
    }
    throw beingChanged();
  }

  private async stored(manager: EntityManager): Promise<StoredSet> {
    const rows: { set: JsonRow; policy: JsonRow | null }[] = await manager.query(
      `SELECT to_jsonb(r) AS set, to_jsonb(p) AS policy FROM approval_policy_revision r LEFT JOIN approval_policy p ON true ORDER BY p.name`,
    );
    const seals = sealsOf(manager);
    const set = seals.rowText(ApprovalPolicyRevision).decoded(rows[0]?.set ?? {});
    const found = rows.flatMap(({ policy }) =>
      policy === null ? [] : [seals.rowText(ApprovalPolicy).decoded(policy)],
    );
    return { revision: set.revision, policies: assertPolicySet(manager, set, found) };
  }

  /**
   * Compares policies with the audit log: first with the entries that this process has recently read and then, unless the same policies were compared last,
   * with the newest entries. During an upgrade, the policies are not compared until the rows have been adopted.
   *
   * @throws Problem `approval-policy.changed` if the log has newer policies
   */
  private async compared(db: EntityManager, first: StoredSet): Promise<Compared> {
    if (!sealsOf(this.db.manager).demandsSealOf(ApprovalPolicyRevision)) return { stored: first };
    const recent = await this.ledger.recent();
    // The policies may have changed after they were read and before the log was read.
    if (recent !== undefined && isBefore(first, recent) && isBefore(await this.stored(db), recent)) throw rolledBack();
    let stored = first;
    for (let reading = 1; reading <= MAX_READINGS; reading += 1) {
      const name = nameOf(stored);
      if (name === this.confirmed && this.ledger.fault === undefined) return { stored };
      let logged: RightsHistory;
      try {
        logged = await this.ledger.latest();
      } catch (error) {
        if (error instanceof Problem) return { stored, doubt: error };
        throw error;
      }
      stored = await this.stored(db);
      // The policies are read again after the log. Unless they changed in between, they must be at least as new as the log.
      if (nameOf(stored) !== name) continue;
      if (isOlder(stored, logged)) throw rolledBack();
      this.confirmed = name;
      return { stored };
    }
    return { stored, doubt: beingChanged() };
  }
}

/** Reports whether the log contains newer policies. */
function isOlder({ revision, policies }: StoredSet, logged: RightsHistory): boolean {
  return revision < logged.policySet || logged.policiesBehind(policies).length > 0;
}

/** Like `isOlder`, for a log that was read before the policies and may lack the latest policy changes. */
function isBefore(stored: StoredSet, logged: RightsHistory): boolean {
  return stored.revision <= logged.policySet && isOlder(stored, logged);
}

function nameOf({ revision, policies }: StoredSet): string {
  return [revision, ...policies.map((policy) => `${policy.id} ${policy.revision}`).sort()].join();
}

function judgedBy(book: Book, kind: PolicySubject, uses: readonly KeyUseToApprove[]): JointJudgement {
  const applying = uses.map((use) => book.policies.filter((policy) => verdictOf(policy, kind, use).applies));
  const all = book.policies.filter((policy) => applying.some((some) => some.includes(policy)));
  const demand = all.length === 0 ? undefined : joined(all, book.groups);
  return { revision: book.revision, demand, held: applying.map((some) => some.length > 0) };
}

function beingChanged(): Problem {
  const detail = 'The approval policies are being changed. Retry after 1 second.';
  return new Problem('unavailable', 'approval.policies-changed', detail, { retryAfter: 1 });
}

function rolledBack(): Problem {
  const detail =
    'The approval policies in the database are older than those in the audit log, because earlier rows were restored. An operator must restore the newest policies, or accept the current ones with "sealwright-admin seal-rows".';
  return new Problem('unavailable', 'approval-policy.changed', detail);
}

/**
 * Returns the combined requirement of all policies that apply: no policy weakens another. A group named by several policies votes once, with the
 * highest threshold.
 */
function joined(policies: readonly ApprovalPolicy[], groups: ReadonlyMap<string, string>): ApprovalRequirement {
  const stages = new Map<string, Stage>();
  for (const { groupId, threshold } of policies.flatMap((policy) => policy.stages)) {
    const max = Math.max(threshold, stages.get(groupId)?.threshold ?? 0);
    stages.set(groupId, { groupId, group: groups.get(groupId) ?? '', threshold: max });
  }
  return {
    policies: policies.map(({ id, name, revision }) => ({ id, name, revision })),
    stages: [...stages.values()],
    expiresInSeconds: Math.min(...policies.map(({ expiresInSeconds }) => expiresInSeconds)),
    commentRequired: policies.some(({ commentRequired }) => commentRequired),
    rejectThreshold: Math.min(...policies.map(({ rejectThreshold }) => rejectThreshold)),
  };
}
