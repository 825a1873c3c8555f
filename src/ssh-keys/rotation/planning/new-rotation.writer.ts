import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ApprovalRequirement } from '../../../approvals/approvals.service.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { type Caller, orderedBy } from '../../../access/caller.js';
import { peopleBehind } from '../../../auth/rights/secret-disclosures.js';
import { HostUses } from '../../../hosts/records/host-removal.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { Outbox } from '../../../platform/queue/outbox.js';
import { KeyCustody, type MadeKey } from '../custody/key-custody.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { Rotation, ROTATION_QUEUE } from '../model/rotation.entity.js';
import { loggedOrder } from './rotation-clearance.js';
import type { RotationPlan } from './rotation-planner.js';

export interface NewRotation {
  readonly id: string;
  readonly plan: RotationPlan;
  /** New key. Undefined if the new key has not been generated yet. */
  readonly newKey: MadeKey | undefined;
  /** Required approvals. Undefined if no approval is required. */
  readonly demand: ApprovalRequirement | undefined;
}

/**
 * NewRotationWriter records rotations with their new key, their targets, and the signals for the first targets. It also prevents the removal of hosts that are
 * part of an open rotation.
 */
@Injectable()
export class NewRotationWriter {
  constructor(
    private readonly audit: AuditService,
    private readonly outbox: Outbox,
    private readonly custody: KeyCustody,
    private readonly uses: HostUses,
  ) {
    uses.serve(assertNotRotating);
  }

  async insert(tx: EntityManager, caller: Caller, { id, plan, newKey, demand }: NewRotation): Promise<void> {
    const { ownerId, origin } = caller;
    const requestedBy = orderedBy(caller, await peopleBehind(tx, caller));
    const { order, custody, accounts, old } = plan;
    const { keyId, dryRun, settings } = order;
    const nextKeyId =
      newKey === undefined ? null : await this.custody.keep(tx, newKey, { id, keyId, correlation: origin.requestId });
    const holders = settings.holder === undefined ? [] : [settings.holder.hostId];
    await this.uses.lockHosts(tx, [...new Set([...accounts.map(({ hostId }) => hostId), ...holders])]);
    await tx.insert(Rotation, {
      id,
      keyId,
      nextKeyId,
      custody,
      dryRun,
      status: demand === undefined ? 'RUNNING' : 'SURVEYING',
      approvalDemand: (demand ?? null) as never,
      settings,
      requestedBy,
      ownerId,
      correlation: origin.requestId,
    });
    const isSurvey = demand !== undefined || dryRun;
    const targets = accounts.map((account, i) => {
      const wave = dryRun ? 0 : waveOf(i, accounts.length);
      return { ...account, id: newId(), rotationId: id, wave, dueAt: wave === 0 || isSurvey ? new Date() : null };
    });
    await tx.insert(RotationTarget, targets);
    const first = targets.filter(({ dueAt }) => dueAt !== null).map((target) => target.id);
    await this.outbox.add(tx, ROTATION_QUEUE, first);
    await this.audit.append(tx, [
      {
        action: 'ssh-rotation.requested',
        actor: caller,
        target: { kind: 'ssh-rotation', id },
        correlation: origin.requestId,
        source: origin.address,
        detail: {
          keyId,
          fingerprint: old.fingerprint,
          nextKeyId,
          custody,
          dryRun,
          targets: accounts.length,
          settings,
          requestedBy,
          ...loggedOrder(accounts, demand !== undefined),
        },
      },
    ]);
  }

  committed(): void {
    this.outbox.committed(ROTATION_QUEUE);
  }
}

/** Returns the wave of a target by its index: wave 0 is one canary, wave 1 is one target in twenty, and wave 2 is the rest. */
function waveOf(index: number, targets: number): number {
  if (index === 0) return 0;
  return index <= Math.max(1, Math.ceil(targets / 20)) ? 1 : 2;
}

/**
 * Throws Problem if the host is part of an open rotation, because the rotation could neither finish nor be rolled back after the host's removal. Skipped and
 * finished targets are ignored.
 */
async function assertNotRotating(tx: EntityManager, hostId: string): Promise<void> {
  const [rotation]: { id: string }[] = await tx.query(
    `SELECT r.id FROM ssh_rotation r
     WHERE r.finished_at IS NULL AND (r.settings -> 'holder' ->> 'hostId' = $1::text OR EXISTS (
       SELECT 1 FROM ssh_rotation_target t WHERE t.rotation_id = r.id AND t.host_id = $1::uuid
         AND t.outcome IN ('OPEN', 'READY', 'BLOCKED', 'FAILED_PRECHECK')))
     ORDER BY r.id LIMIT 1`,
    [hostId],
  );
  if (rotation === undefined) return;
  throw new Problem(
    'conflict',
    'host.rotating',
    `Rotation ${rotation.id} uses this host. Wait until the rotation ends, roll it back, or skip the host.`,
    { instance: `/v1/rotations/${rotation.id}` },
  );
}
