import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager, In } from 'typeorm';
import { approvalHash, ApprovalsService, type GrantedApproval } from '../../../approvals/approvals.service.js';
import type { KeyUseToApprove } from '../../../approvals/subjects/key-use.port.js';
import { giversOf } from '../../../access/caller.js';
import type { EntryRow } from '../../../audit/log/log-leaf.js';
import { VouchedEntries } from '../../../audit/log/vouched-entries.js';
import { holdsNow } from '../../../auth/rights/credential-rights.js';
import { sshFingerprintOf } from '../../../formats/ssh/public-key.js';
import { Host } from '../../../hosts/model/host.entity.js';
import { isId } from '../../../platform/database/new-id.js';
import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { nameInTitle } from '../../../platform/text/truncate.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { Rotation } from '../model/rotation.entity.js';
import { hasReached, rotationStatusesBefore, TARGET_STEPS } from '../model/rotation-state.js';
import { RotationTarget, type TargetPlan } from '../model/rotation-target.entity.js';
import { FencedOff, StepFailure } from '../model/rotation-work.js';
import { documentOf } from './rotation-document.js';
import { usesOfRotation } from './rotation-requirements.js';

/** Outcome of a refused target: FAILED_PRECHECK before its host was changed, BLOCKED after. */
type Refusal = 'FAILED_PRECHECK' | 'BLOCKED';

/** An account whose keys are changed. */
type Account = Pick<RotationTarget, 'hostId' | 'account'>;

/** Decides before a host is changed whether the rotation is what was ordered, and what was approved. */
@Injectable()
export class RotationClearance {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
    private readonly vouched: VouchedEntries,
  ) {}

  /**
   * Asserts before a host is changed that the rows are what the audit log has of the order, that the approval is granted, and that it covers what the rows
   * say now. Until the first host is changed, the policies of now must be met as well: where they demand further votes, the rotation is
   * PENDING_APPROVAL again. A rotation that has begun ends under the approval with which it began. Throws StepFailure, or FencedOff when the
   * rotation waits again.
   */
  async assertCovers(rotation: Rotation): Promise<void> {
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    const needsApproval = await this.wasDemanded(rotation);
    // All sides are checked: a row whose approvalDemand was removed is not free of its approval.
    if (needsApproval || rotation.approvalDemand !== null || granted !== undefined) {
      const { shown } = await readDocument(this.db.manager, rotation);
      const isGiven = granted?.granted === true && granted.id === rotation.approvalId;
      if (!isGiven || !granted.hash.equals(approvalHash(shown)))
        throw notApproved('The change is not the approved one. Order the rotation again.');
    }
    if (rotation.dryRun) return;
    await this.assertRights(rotation);
    const waits = await this.db.transaction((tx) => this.waitsAgain(tx, rotation, granted));
    if (waits) throw new FencedOff();
  }

  /**
   * Asserts that everyone behind the order may still rotate keys: no host is changed for a disabled user or a revoked key. The right is required before
   * the new key is added to a host, and again before the key becomes permanent.
   *
   * @param outcome BLOCKED if the new key is already on the host
   * @throws StepFailure `rotation.rights-lost`
   */
  async assertRights({ requestedBy, ownerId }: Rotation, outcome: Refusal = 'FAILED_PRECHECK'): Promise<void> {
    for (const giver of giversOf(requestedBy, ownerId).filter(isId)) {
      if (await holdsNow(this.db.manager, giver, ['keys:rotate'])) continue;
      const detail = `${requestedBy.name}, who ordered this rotation, can no longer order rotations. Roll the rotation back, or order it again.`;
      throw new StepFailure(outcome, 'rotation.rights-lost', detail);
    }
  }

  /** Asserts, before a host is changed further or rolled back, that the rotation was ordered, and approved if it needed approval. Throws StepFailure. */
  async assertApproved(rotation: Rotation): Promise<void> {
    if (!(await this.wasDemanded(rotation, 'BLOCKED'))) return;
    const [granted] = await this.approvals.granted(this.db.manager, 'ssh-rotation', [rotation.id]);
    if (granted?.granted !== true || granted.id !== rotation.approvalId)
      throw notApproved('The rotation was not approved.', 'BLOCKED');
  }

  /**
   * Asserts, before a host is changed or rolled back, that the target reached the state in its row with the plan of its precheck. The row alone proves
   * nothing, since it can be inserted in any state. Throws StepFailure.
   */
  async assertReached({ id }: Rotation, { hostId, account, state, plan }: RotationTarget): Promise<void> {
    if (state === 'PLANNED') return;
    const actions = TARGET_STEPS.map((step) => `ssh-rotation.${step}`);
    const own = await this.vouched.about(this.db.manager, [id], actions, { hostId, account });
    const planned = own.findLast(({ action, outcome }) => action === 'ssh-rotation.precheck' && outcome === 'done');
    const logged = planned?.detail['planSha256'];
    // The previous version logged no hash of the plan.
    const isPlanned = planned !== undefined && (logged === undefined || logged === planSha256(plan));
    // The release of a wave is logged for the rotation and not for its targets.
    const reached = state === 'RELEASED' ? 'PERMANENT' : state;
    if (isPlanned && own.some(({ detail }) => detail['to'] === reached)) return;
    const detail = `The audit log does not confirm that ${account} reached ${state}: it was changed in the database.`;
    throw notApproved(detail, 'BLOCKED');
  }

  /** Whether the audit log says that the order needed approval. Throws StepFailure if a row differs from the order in the log. */
  private async wasDemanded(rotation: Rotation, outcome: Refusal = 'FAILED_PRECHECK'): Promise<boolean> {
    const { manager } = this.db;
    const actions = ['ssh-rotation.requested', 'ssh-rotation.key-made'];
    const entries = await this.vouched.about(manager, [rotation.id], actions);
    const [order, ...more] = entries.filter(({ action }) => action === 'ssh-rotation.requested');
    const accounts: Account[] = await manager.query(
      `SELECT host_id AS "hostId", account FROM ssh_rotation_target WHERE rotation_id = $1`,
      [rotation.id],
    );
    const next = rotation.nextKeyId === null ? null : await manager.findOneBy(SshKey, { id: rotation.nextKeyId });
    const made = entries.findLast(({ action }) => action === 'ssh-rotation.key-made');
    if (
      order === undefined ||
      more.length > 0 ||
      !isAsOrdered(order, rotation, accounts) ||
      !isAsMade(order, made, next)
    )
      throw notApproved(
        'The rotation differs from its order in the audit log: it was changed in the database.',
        outcome,
      );
    return order.detail['approval'] === true;
  }

  /** Whether the policies of now demand further votes before the first host is changed: then every target is taken from its worker. */
  private async waitsAgain(
    tx: EntityManager,
    { id }: Rotation,
    granted: GrantedApproval | undefined,
  ): Promise<boolean> {
    const rotation = await tx.findOneOrFail(Rotation, { where: { id }, lock: { mode: 'pessimistic_write' } });
    const targets = await tx.findBy(RotationTarget, { rotationId: id });
    if (targets.some(({ state }) => hasReached(state, 'ADDED'))) return false;
    const { demand } = await this.approvals.judgeNow(tx, 'ssh-rotation', await usesOfTargets(tx, rotation, targets));
    if (demand === undefined) return false;
    if (granted === undefined)
      throw notApproved('The approval policies were changed, and this rotation now needs approval. Order it again.');
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

/** What the log has of an order beyond its settings: the accounts that it changes, and whether it needs approval. */
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
  // Orders of earlier versions have no hash of their accounts, and name their requester only as the actor.
  const hashed = 'accountsSha256' in detail ? { accountsSha256 } : {};
  const by = 'requestedBy' in detail ? { requestedBy } : {};
  const wanted: Record<string, unknown> = { keyId, custody, dryRun, settings, ...hashed, ...by };
  return Object.entries(wanted).every(([name, value]) => canonicalJson(detail[name] ?? null) === canonicalJson(value));
}

/** Whether the new key is the one that was made for this rotation. */
function isAsMade({ detail }: EntryRow, made: EntryRow | undefined, next: SshKey | null): boolean {
  if (next === null || !('accountsSha256' in detail)) return true;
  return next.blob !== null && made?.detail['fingerprint'] === sshFingerprintOf(next.blob);
}

/** The document that approvers see, with its title. */
export async function readDocument(
  tx: EntityManager,
  rotation: Rotation,
): Promise<{ title: string; shown: Record<string, unknown> }> {
  const old = await tx.findOneByOrFail(SshKey, { id: rotation.keyId });
  // A key that its host makes is made after the approval, and is no part of what was shown.
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

/** planSha256 returns the hash by which the audit log records the plan of a target, base64. */
export function planSha256(plan: TargetPlan | null): string {
  return createHash('sha256').update(canonicalJson(plan)).digest('base64');
}

function notApproved(detail: string, outcome: Refusal = 'FAILED_PRECHECK'): StepFailure {
  return new StepFailure(outcome, 'rotation.not-approved', detail);
}
