import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager, In } from 'typeorm';
import { approvalHash, ApprovalsService, type GrantedApproval } from '../../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../../approvals/policies/key-use.port.js';
import { giversOf } from '../../../access/caller.js';
import { rollBackOf } from '../../../audit/history/rights-history.js';
import { RightsLedger } from '../../../audit/history/rights-ledger.js';
import type { EntryRow } from '../../../audit/entries/entry-row.js';
import { VouchedEntries } from '../../../audit/log/vouched-entries.js';
import { holdsNow } from '../../../auth/rights/credential-rights.js';
import { sshFingerprintOf } from '../../../formats/ssh/public-key.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { isId } from '../../../platform/database/new-id.js';
import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { nameInTitle } from '../../../platform/text/truncate.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { Rotation } from '../model/rotation.entity.js';
import { hasReached, rotationStatusesBefore, TARGET_STEPS, type TargetOutcome } from '../model/rotation-state.js';
import { RotationTarget, type TargetPlan } from '../model/rotation-target.entity.js';
import { FencedOff, StepFailure } from '../model/rotation-work.js';
import { documentOf } from './rotation-document.js';
import { usesOfRotation } from './rotation-requirements.js';

/** Outcome of a rejected target: FAILED_PRECHECK before the host was changed, BLOCKED afterwards. */
type Refusal = 'FAILED_PRECHECK' | 'BLOCKED';

/** Account whose authorized keys are changed. */
type Account = Pick<RotationTarget, 'hostId' | 'account'>;

/** Outcomes after which a target is not changed again. */
const ENDED: ReadonlySet<unknown> = new Set(['ROLLED_BACK', 'SKIPPED', 'PROVEN'] satisfies TargetOutcome[]);

/** RotationClearance verifies, before a host is changed, that the rotation matches its request and its approval. */
@Injectable()
export class RotationClearance {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
  ) {}

  /**
   * Asserts, before a host is changed, that the rows match the request in the audit log, that the approval is granted, and that the approval covers the current
   * rows. Until the first host is changed, the current policies must also be met. If the policies require further votes, the rotation becomes PENDING_APPROVAL
   * again. A rotation that has started finishes under its original approval. Throws StepFailure, or FencedOff if the rotation is pending approval again.
   */
  async assertCovers(rotation: Rotation): Promise<void> {
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    const needsApproval = await this.wasDemanded(rotation);
    // All sources are checked, so that clearing approvalDemand in a row does not remove the need for approval.
    if (needsApproval || rotation.approvalDemand !== null || granted !== undefined) {
      const { shown } = await readDocument(this.db.manager, rotation);
      const isGiven = granted?.granted === true && granted.id === rotation.approvalId;
      if (!isGiven || !granted.hash.equals(approvalHash(shown)))
        throw notApproved('The change differs from the approved change. Request the rotation again.');
    }
    if (rotation.dryRun) return;
    await this.assertRights(rotation);
    const waits = await this.db.transaction((tx) => this.waitsAgain(tx, rotation, granted));
    if (waits) throw new FencedOff();
  }

  /**
   * Asserts that everyone behind the request may still rotate keys, so that no host is changed for a disabled user or a revoked key. Called before
   * the new key is added to a host, and again before the key becomes permanent.
   *
   * @param outcome BLOCKED if the new key is already on the host
   * @throws StepFailure `rotation.rights-lost`
   */
  async assertRights({ requestedBy, ownerId }: Rotation, outcome: Refusal = 'FAILED_PRECHECK'): Promise<void> {
    for (const giver of giversOf(requestedBy, ownerId).filter(isId)) {
      if (await holdsNow(this.db.manager, giver, ['keys:rotate'])) continue;
      const detail = `${requestedBy.name}, who requested this rotation, can no longer request rotations. Roll the rotation back, or request it again.`;
      throw new StepFailure(outcome, 'rotation.rights-lost', detail);
    }
  }

  /**
   * Asserts, before a host is changed further or rolled back, that the rotation was requested, and approved if approval was required. Throws
   * StepFailure.
   */
  async assertApproved(rotation: Rotation): Promise<void> {
    if (!(await this.wasDemanded(rotation, 'BLOCKED'))) return;
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    if (granted?.granted !== true || granted.id !== rotation.approvalId)
      throw notApproved('The rotation was not approved.', 'BLOCKED');
  }

  /**
   * Asserts, before a host is changed or rolled back, that the target reached the state in its row with the plan of its precheck. The row alone does not prove
   * this, because a row can be inserted in any state. Throws StepFailure.
   */
  async assertReached({ id }: Rotation, { hostId, account, state, plan }: RotationTarget): Promise<void> {
    if (state === 'PLANNED') return;
    const actions = TARGET_STEPS.map((step) => `ssh-rotation.${step}`);
    const own = await this.vouched.about(this.db.manager, [id], actions, { hostId, account });
    const planned = own.findLast(({ action, outcome }) => action === 'ssh-rotation.precheck' && outcome === 'done');
    const logged = planned?.detail['planSha256'];
    // Entries of the previous version contain no plan hash.
    const isPlanned = planned !== undefined && (logged === undefined || logged === planSha256(plan));
    // The release of a wave is logged for the rotation, not for each target.
    const reached = state === 'RELEASED' ? 'PERMANENT' : state;
    const last = own.findLast(({ outcome }) => outcome === 'done')?.detail;
    const isReached = own.some(({ detail }) => detail['to'] === reached);
    if (isPlanned && isReached && !ENDED.has(last?.['outcome'])) return;
    const detail = `The audit log does not confirm that ${account} reached ${state}. The state was changed in the database.`;
    throw notApproved(detail, 'BLOCKED');
  }

  /** Reports whether the request required approval, according to the audit log. Throws StepFailure if a row differs from the logged request. */
  private async wasDemanded(rotation: Rotation, outcome: Refusal = 'FAILED_PRECHECK'): Promise<boolean> {
    const { manager } = this.db;
    await this.assertUnderWay(rotation, outcome);
    const actions = ['ssh-rotation.requested', 'ssh-rotation.key-made'];
    const entries = await this.vouched.about(manager, [rotation.id], actions);
    const [order, ...more] = entries.filter(({ action }) => action === 'ssh-rotation.requested');
    const accounts: Account[] = await manager.query(
      `SELECT host_id AS "hostId", account FROM ssh_rotation_target WHERE rotation_id = $1`,
      [rotation.id],
    );
    const old = await manager.findOneBy(SshKey, { id: rotation.keyId });
    const next = rotation.nextKeyId === null ? null : await manager.findOneBy(SshKey, { id: rotation.nextKeyId });
    const made = entries.findLast(({ action }) => action === 'ssh-rotation.key-made');
    if (
      order === undefined ||
      more.length > 0 ||
      !isAsOrdered(order, rotation, accounts) ||
      !isOldKey(order, old) ||
      !isAsMade(order, made, next)
    )
      throw notApproved(
        'The rotation differs from its request in the audit log. It was changed in the database.',
        outcome,
      );
    return order.detail['approval'] === true;
  }

  /**
   * Asserts that the rotation has not ended according to the audit log, and that it is not continued after a user requested a rollback. Throws StepFailure, and
   * the Problems of RightsLedger.
   */
  private async assertUnderWay({ id, status }: Rotation, outcome: Refusal): Promise<void> {
    const { withdrawn } = await this.ledger.latest();
    const isRolledBack = withdrawn.has(rollBackOf(id)) && status !== 'ROLLING_BACK';
    if (!withdrawn.has(id) && !isRolledBack) return;
    const detail = `The rotation is ${status}, but the audit log records it as ${withdrawn.has(id) ? 'ended' : 'rolled back'}. It was changed in the database.`;
    throw notApproved(detail, outcome);
  }

  /** Reports whether the current policies require further votes before the first host is changed. If they do, withdraws all targets from their workers. */
  private async waitsAgain(
    tx: EntityManager,
    { id }: Rotation,
    granted: GrantedApproval | undefined,
  ): Promise<boolean> {
    const rotation = await tx.findOneOrFail(Rotation, { where: { id }, lock: { mode: 'pessimistic_write' } });
    const targets = await tx.findBy(RotationTarget, { rotationId: id });
    if (targets.some(({ state }) => hasReached(state, 'ADDED'))) return false;
    const { demand } = await this.approvals.judgeNow(tx, 'ssh-rotation', await usesOfTargets(tx, rotation, targets));
    if (granted === undefined && demand === undefined) return false;
    if (granted === undefined)
      throw notApproved(
        'The approval policies were changed, and this rotation now requires approval. Request it again.',
      );
    if (!(await this.approvals.fallsShort(tx, granted.id, demand))) return false;
    const [, moved]: [unknown, number] = await tx.query(
      `UPDATE ssh_rotation SET status = 'PENDING_APPROVAL' WHERE id = $1 AND status = ANY($2)`,
      [id, rotationStatusesBefore('PENDING_APPROVAL')],
    );
    if (moved === 1) {
      await tx.query(
        `UPDATE ssh_rotation_target SET state = 'PLANNED', fence = fence + 1, worker = NULL, lease_until = NULL, due_at = NULL
         WHERE rotation_id = $1 AND outcome = 'OPEN'`,
        [id],
      );
      await this.approvals.reopen(tx, granted.id, demand);
    }
    return true;
  }
}

/** Returns the logged details of a request in addition to its settings: a hash of the accounts to change, and whether approval is required. */
export function loggedOrder(
  accounts: readonly Account[],
  needsApproval: boolean,
): { readonly accountsSha256: string; readonly approval: boolean } {
  const names = accounts.map(({ hostId, account }) => `${hostId} ${account}`).sort();
  const accountsSha256 = createHash('sha256').update(canonicalJson(names)).digest('base64');
  return { accountsSha256, approval: needsApproval };
}

function isAsOrdered({ actorId, detail }: EntryRow, rotation: Rotation, accounts: readonly Account[]): boolean {
  const { keyId, custody, dryRun, settings, requestedBy } = rotation;
  if (actorId !== requestedBy.id) return false;
  const { accountsSha256 } = loggedOrder(accounts, false);
  // Entries written by earlier versions contain no account hash, and identify the requester only as the actor.
  const hashed = 'accountsSha256' in detail ? { accountsSha256 } : {};
  const by = 'requestedBy' in detail ? { requestedBy } : {};
  const wanted: Record<string, unknown> = { keyId, custody, dryRun, settings, ...hashed, ...by };
  return Object.entries(wanted).every(([name, value]) => canonicalJson(detail[name] ?? null) === canonicalJson(value));
}

/** Reports whether the old key is the key that the request names. Entries written by earlier versions do not contain the fingerprint. */
function isOldKey({ detail }: EntryRow, old: SshKey | null): boolean {
  const { fingerprint } = detail;
  if (old?.blob == null) return false;
  const found = sshFingerprintOf(old.blob);
  return old.fingerprint === found && (fingerprint === undefined || fingerprint === found);
}

/** Reports whether the new key is the key that was generated for this rotation. */
function isAsMade({ detail }: EntryRow, made: EntryRow | undefined, next: SshKey | null): boolean {
  if (next === null || !('accountsSha256' in detail)) return true;
  return next.blob !== null && made?.detail['fingerprint'] === sshFingerprintOf(next.blob);
}

/** Returns the document that approvers see, and its title. */
export async function readDocument(
  tx: EntityManager,
  rotation: Rotation,
): Promise<{ title: string; shown: Record<string, unknown> }> {
  const old = await tx.findOneByOrFail(SshKey, { id: rotation.keyId });
  // A key that a host generates does not exist until after the approval, and is not part of the document.
  const nextId = rotation.custody === 'host' ? null : rotation.nextKeyId;
  const next = nextId === null ? undefined : await tx.findOneByOrFail(SshKey, { id: nextId });
  const targets = await tx.findBy(RotationTarget, { rotationId: rotation.id });
  const hosts = await tx.findBy(Host, { id: In([...new Set(targets.map(({ hostId }) => hostId))]) });
  const shown = documentOf({ rotation, old, next, targets, hosts });
  const name = old.comment === null ? old.fingerprint : nameInTitle(old.comment, 80);
  return { title: `Rotate ${name} on ${targets.length} accounts`, shown };
}

export async function usesOfTargets(
  tx: EntityManager,
  { keyId, custody, requestedBy, ownerId }: Rotation,
  targets: readonly RotationTarget[],
): Promise<KeyUseToApprove[]> {
  const key = await tx.findOneByOrFail(SshKey, { id: keyId });
  return usesOfRotation(tx, { key, custody, accounts: targets, callers: [requestedBy.id, ownerId] });
}

/** planSha256 returns the base64 hash that identifies the plan of a target in the audit log. */
export function planSha256(plan: TargetPlan | null): string {
  return createHash('sha256').update(canonicalJson(plan)).digest('base64');
}

function notApproved(detail: string, outcome: Refusal = 'FAILED_PRECHECK'): StepFailure {
  return new StepFailure(outcome, 'rotation.not-approved', detail);
}
