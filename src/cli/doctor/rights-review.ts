import type { INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { isApproved, loggedApprovalIn } from '../../approvals/approvals.service.js';
import { RightsHistory } from '../../audit/history/rights-history.js';
import { applyEntry } from '../../audit/history/rights-rules.js';
import type { LeafRow } from '../../audit/log/log-leaf.js';
import { VerifiedLeaves } from '../../audit/history/verified-leaves.js';
import type { EntryRow } from '../../audit/entries/entry-row.js';
import { isId, timeOfId } from '../../platform/database/new-id.js';
import { GrowingRoot } from '../../verifier/merkle-tree.js';
import { EntryOrder } from '../../verifier/entry-order.js';
import { earlierRows } from './earlier-rows.js';
import { bad, type Finding, ok, warn } from './examinations.js';

/**
 * If a loss of rights and an action are at most this many milliseconds apart, their order is uncertain. The tolerance covers credential caching, the longest
 * statement and clock skew between machines.
 */
const TOLERANCE_MS = 30_000;
/** Maximum number of findings shown by default. */
const MAX_SHOWN = 20;
/** Maximum number of findings of each kind, to limit memory usage. */
const MAX_FOUND = 100_000;
/** Maximum number of leaves that the doctor reads by default, which takes about ten seconds. */
const MAX_UNASKED_LEAVES = 200_000;

/**
 * examineRights compares the rights in the database and the actions in the audit log with the rights according to the log.
 *
 * @param wholeLog whether to read the log regardless of its length
 * @param all whether to return all findings, not only the first
 */
export async function examineRights(
  app: INestApplicationContext,
  { wholeLog, all }: { readonly wholeLog: boolean; readonly all: boolean },
): Promise<readonly Finding[]> {
  const what = 'rights and the log';
  const size = await app.get(VerifiedLeaves).signedSize();
  if (!wholeLog && size > MAX_UNASKED_LEAVES)
    return [ok(what, `not compared because the log has ${size} leaves; run sealwright-admin doctor --log to compare`)];
  const { found, foreign } = await reviewRights(app);
  const none = ok(what, `no unauthorized action was found in ${size} leaves of the log`);
  return [
    ...(found.length === 0 ? [none] : firstOf(found, all).map((detail) => bad(what, detail, 'runbook: rows'))),
    ...firstOf(foreign, all).map((detail) => warn('foreign leaves', detail, 'runbook: log')),
  ];
}

function firstOf(lines: readonly string[], all: boolean): readonly string[] {
  if (all || lines.length <= MAX_SHOWN) return lines;
  return [
    ...lines.slice(0, MAX_SHOWN),
    `and ${lines.length - MAX_SHOWN} more; run sealwright-admin doctor --all to show them`,
  ];
}

type Entry = Pick<EntryRow, 'id' | 'at' | 'action' | 'outcome' | 'actorKind' | 'actorId' | 'targetId' | 'detail'>;

/**
 * reviewRights reads the audit log up to the checkpoint signed by the HSM. reviewRights reports actions by users who had lost the required right, and rows
 * that grant rights that were revoked according to the log. Both kinds of findings indicate that earlier rows were restored together with their seals.
 *
 * @returns one line per finding; `foreign` contains leaves marked as not written by the service, which an operator may have accepted
 */
export async function reviewRights(app: INestApplicationContext): Promise<{ found: string[]; foreign: string[] }> {
  const review = new RightsReview();
  const foreign: string[] = [];
  await app.get(VerifiedLeaves).follow(new GrowingRoot(), ({ index, entry }) => {
    if (entry === undefined) review.note(`the entry of leaf ${index} of the audit log was changed or removed`);
    else if (entry.kind === 'entry') review.visit(entry, index);
    else if (entry.kind !== 'record' && foreign.length < MAX_FOUND) foreign.push(foreignLeafIn(entry, index));
  });
  const rows = await differingRows(app.get(DataSource), review.history);
  return { found: [...review.found, ...rows], foreign };
}

function foreignLeafIn({ kind, entryId }: Pick<LeafRow, 'kind' | 'entryId'>, index: number): string {
  const what = kind === 'missing' ? 'was removed before it was numbered' : 'was not written by the service';
  return `leaf ${index}: the entry ${entryId} ${what}`;
}

/** Actions whose entries contain the revision of the policy set against which the request was evaluated. */
const JUDGED: ReadonlySet<string> = new Set(['signing.accepted', 'signing.claimed']);

/** Steps of SSH key rotations that change a host. */
const HOST_CHANGES: ReadonlySet<string> = new Set(
  ['add', 'make-permanent', 'promote', 'limit-old', 'remove-old'].map((step) => `ssh-rotation.${step}`),
);

/** RightsReview compares each entry with the earlier entries of the log. */
export class RightsReview {
  readonly history = new RightsHistory();
  readonly found: string[] = [];
  private readonly order = new EntryOrder();
  /** Signing requests that failed permanently, with the time in milliseconds. */
  private readonly failed = new Map<string, number>();
  /** Last request evaluated under each revision of the policy set. */
  private readonly judged = new Map<number, { readonly at: number; readonly targetId: string }>();
  /** Entries about pending approvals, by approval. */
  private readonly pending = new Map<string, Entry[]>();
  /** Groups of the stages, by approval. */
  private readonly groups = new Map<string, readonly unknown[]>();

  visit(entry: Entry, index: number): void {
    const fault = this.order.faultOf(entry.id, entry.at);
    if (fault !== undefined) this.note(`leaf ${index}: the entry ${fault}`);
    const objection = entry.outcome === 'refused' ? undefined : this.objectionTo(entry);
    if (objection !== undefined)
      this.note(`leaf ${index}: ${entry.action} of ${entry.targetId}, although ${objection}`);
    this.compareEarlier(entry);
    this.reviewApproval(entry, index);
    this.reviewPolicy(entry, index);
    this.remember(entry);
    applyEntry(this.history, entry);
  }

  /** Returns the time at which the approval or rotation of an entry ended, or at which its request failed; undefined if neither happened. */
  private endOf(action: string, targetId: string, { to, approval }: Entry['detail']): number | undefined {
    if (action === 'signing.claimed' || action === 'signing.signed') return this.failed.get(targetId);
    if (action === 'signing.approved') return this.history.refused.get(String(approval));
    if (HOST_CHANGES.has(action)) return this.history.withdrawn.get(targetId);
    const counts = action === 'approval.approved' || (action === 'approval.decided' && to === 'APPROVED');
    return counts ? this.history.refused.get(targetId) : undefined;
  }

  /** Detects a policy change whose log entry was held back: requests evaluated after the change precede the change's entry in the log. */
  private compareEarlier({ id, action, targetId, detail: { policySet } }: Entry): void {
    if (typeof policySet !== 'number') return;
    const at = timeOfId(id);
    if (JUDGED.has(action)) this.judged.set(policySet, { at, targetId });
    else
      for (const [revision, last] of this.judged)
        if (revision < policySet && last.at > at + TOLERANCE_MS)
          this.note(
            `${last.targetId} was signed under revision ${revision} of the approval policies, although revision ${policySet} was already in effect`,
          );
  }

  /** Detects an approval whose rejections, extensions or votes were hidden when the approval was decided. */
  private reviewApproval(entry: Entry, index: number): void {
    const { action, targetId, detail } = entry;
    if (!action.startsWith('approval.')) return;
    if (action !== 'approval.decided') {
      // Versions that did not yet check approvals against the log wrote incomplete entries.
      if (action === 'approval.requested' && typeof detail['rejectThreshold'] === 'number')
        this.pending.set(targetId, []);
      this.pending.get(targetId)?.push(entry);
      return;
    }
    const entries = this.pending.get(targetId) ?? [];
    this.pending.delete(targetId);
    const [logged] = loggedApprovalIn(entries) ?? [];
    if (detail['to'] === 'APPROVED' && logged !== undefined && !isApproved(logged))
      this.note(
        `leaf ${index}: the approval ${targetId} was granted, although its entries show too few votes or enough rejections`,
      );
  }

  /** Detects a change to a restored earlier policy: the change gets a revision that is already in the log. */
  private reviewPolicy({ action, targetId, detail: { revision, policySet } }: Entry, index: number): void {
    if (action !== 'approval-policy.changed' || typeof revision !== 'number') return;
    const isRepeated = revision <= (this.history.policies.get(targetId) ?? 0);
    if (isRepeated || (typeof policySet === 'number' && policySet <= this.history.policySet))
      this.note(
        `leaf ${index}: approval policy ${targetId} was changed to revision ${revision}, but the log already contains this revision`,
      );
  }

  note(finding: string): void {
    if (this.found.length < MAX_FOUND) this.found.push(finding);
  }

  private remember({ id, action, targetId, detail: { stages, to } }: Entry): void {
    if (action === 'signing.failed' && to === 'FAILED') this.failed.set(targetId, timeOfId(id));
    if (!Array.isArray(stages) || !action.startsWith('approval.')) return;
    this.groups.set(
      targetId,
      stages.map((stage: unknown) => (stage as { groupId?: unknown }).groupId),
    );
  }

  private objectionTo({ id: entryId, action, actorKind, actorId: id, targetId, detail }: Entry): string | undefined {
    const at = timeOfId(entryId);
    const revoked = this.history.revoked.get(id);
    if (revoked !== undefined && revoked <= at - TOLERANCE_MS) return `the ${actorKind} ${id} was revoked`;
    const { policySet, policySetAt } = this.history;
    const judgedBy = JUDGED.has(action) ? detail['policySet'] : undefined;
    if (typeof judgedBy === 'number' && judgedBy < policySet && policySetAt <= at - TOLERANCE_MS)
      return `the approval policies had revision ${policySet}, not ${judgedBy}`;
    const over = this.endOf(action, targetId, detail);
    if (over !== undefined && over <= at - TOLERANCE_MS) return `the approval, request or rotation had ended`;
    if (actorKind !== 'user') return undefined;
    const person = { id, at, ...this.factsOf(action, targetId, detail) };
    return this.history.objectionTo(person, TOLERANCE_MS);
  }

  /** Returns the facts that the log must confirm about a user who votes or signs in. */
  private factsOf(action: string, targetId: string, { session, stage, way, methods }: Entry['detail']) {
    const isVote = action === 'approval.approved' || action === 'approval.rejected';
    const isSignIn = action === 'auth.signed-in' && way === 'password';
    return {
      session: isVote && typeof session === 'string' ? session : undefined,
      groupId: isVote ? groupOf(this.groups.get(targetId), stage) : undefined,
      methods: isSignIn && Array.isArray(methods) ? methods.map(String) : undefined,
    };
  }
}

function groupOf(groups: readonly unknown[] | undefined, stage: unknown): string | undefined {
  const group = groups?.[Number(stage)];
  return typeof group === 'string' ? group : undefined;
}

interface CredentialRow {
  readonly kind: string;
  readonly id: string;
  readonly roles: readonly string[] | null;
}

/** Returns a finding for each account or credential that is active in the database but revoked according to the log. */
async function differingRows(db: DataSource, history: RightsHistory): Promise<string[]> {
  const { people, ended, revoked } = history;
  const rows: CredentialRow[] = await db.query(
    `SELECT 'account' AS kind, id::text, roles FROM user_account WHERE id = ANY($1::uuid[]) AND NOT disabled
     UNION ALL SELECT 'session', id::text, NULL FROM auth_session WHERE id = ANY($2::uuid[]) AND ended_at IS NULL AND expires_at > now()
     UNION ALL SELECT 'API key', id::text, NULL FROM api_key WHERE id = ANY($3::uuid[]) AND revoked_at IS NULL
     UNION ALL SELECT 'OAuth client', id::text, NULL FROM oauth_client WHERE id = ANY($3::uuid[]) AND revoked_at IS NULL`,
    [people, ended, revoked].map((known) => [...known.keys()].filter(isId)),
  );
  const credentials = rows.flatMap(({ kind, id, roles }) => {
    const { roles: logged, disabledAt = 0 } = history.people.get(id) ?? {};
    if (kind === 'account' && disabledAt > 0) return [`account ${id} is enabled, but disabled according to the log`];
    if (kind === 'session' && history.ended.has(id)) return [`session ${id} is valid, but ended according to the log`];
    if (history.revoked.has(id)) return [`${kind} ${id} is valid, but revoked according to the log`];
    const more = logged === undefined ? [] : (roles ?? []).filter((role) => !logged.some((one) => one === role));
    return more.length === 0 ? [] : [`account ${id} has roles that are not in the log: ${more.join(', ')}`];
  });
  return [
    ...credentials,
    ...(await differingMembers(db, history)),
    ...(await earlierRows(db.manager, history)).map(
      ({ table, id, edit, logged }) =>
        `row ${id} of ${table} is an earlier version: it has edit ${edit}, but the log has edit ${logged}`,
    ),
    ...(await differingPolicies(db, history)),
    ...(await restoredThings(db, history)),
  ];
}

/** Returns a finding for each row that is in use in the database but removed, revoked, disabled or destroyed according to the log. */
async function restoredThings(db: DataSource, { withdrawn }: RightsHistory): Promise<string[]> {
  const rows: { kind: string; id: string }[] = await db.query(
    `SELECT 'identity provider' AS kind, id::text FROM identity_provider WHERE id = ANY($1::uuid[]) AND enabled
     UNION ALL SELECT 'workload issuer', id::text FROM workload_issuer WHERE id = ANY($1::uuid[])
     UNION ALL SELECT 'workload trust', id::text FROM workload_trust WHERE id = ANY($1::uuid[])
     UNION ALL SELECT 'SSH login rule', id::text FROM ssh_login_rule WHERE id = ANY($1::uuid[])
     UNION ALL SELECT 'invitation', id::text FROM invitation WHERE id = ANY($1::uuid[]) AND revoked_at IS NULL AND accepted_at IS NULL
     UNION ALL SELECT 'SSH key rotation', id::text FROM ssh_rotation WHERE id = ANY($1::uuid[]) AND finished_at IS NULL
     UNION ALL SELECT 'signing key', id::text FROM signing_key WHERE id = ANY($1::uuid[]) AND state = 'ACTIVE'`,
    [[...withdrawn.keys()].filter(isId)],
  );
  return rows.map(({ kind, id }) => `${kind} ${id} is in use, but ended, removed or disabled according to the log`);
}

async function differingMembers(db: DataSource, { groups }: RightsHistory): Promise<string[]> {
  const rows: { group: string; person: string }[] = await db.query(
    `SELECT group_id::text AS group, user_id::text AS person FROM approver_group_member WHERE group_id = ANY($1::uuid[]) AND user_id IS NOT NULL`,
    [[...groups.keys()].filter(isId)],
  );
  return rows.flatMap(({ group, person }) => {
    const logged = groups.get(group);
    if (logged === undefined || logged.members.includes(person)) return [];
    return [`account ${person} is a member of approver group ${group}, but not according to the log`];
  });
}

async function differingPolicies(db: DataSource, history: RightsHistory): Promise<string[]> {
  const rows: { id: string; revision: number }[] = await db.query(`SELECT id::text, revision FROM approval_policy`);
  return history
    .policiesBehind(rows)
    .map(
      ({ id, revision, logged }) =>
        `approval policy ${id} is at revision ${revision}, but the log is at revision ${logged} (0: removed)`,
    );
}
