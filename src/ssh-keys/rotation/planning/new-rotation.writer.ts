import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ApprovalRequirement } from '../../../approvals/approvals.service.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Caller } from '../../../access/caller.js';
import { newId } from '../../../platform/database/new-id.js';
import { Outbox } from '../../../platform/outbox/outbox.js';
import { RotationHosts } from './rotation-hosts.js';
import { waveOf } from '../model/rotation-limits.js';
import type { Account } from '../model/rotation-places.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import { ROTATION_QUEUE } from '../model/rotation.queue.js';
import { type NewCustody, Rotation, type RotationSettings } from '../model/rotation.entity.js';

export interface SshKeyRotationOrder {
  readonly keyId: string;
  readonly custody?: NewCustody;
  /** `TYPE BASE64 [COMMENT]`, for custody `human`. */
  readonly publicKey?: string;
  /** Absent: every place where the key is known to be. */
  readonly targets?: readonly Account[];
  readonly dryRun: boolean;
  readonly settings: RotationSettings;
}

export interface PlannedRotation {
  readonly id: string;
  readonly nextKeyId: string | null;
  readonly custody: NewCustody;
  readonly order: SshKeyRotationOrder;
  readonly places: readonly Account[];
  readonly demand: ApprovalRequirement | undefined;
}

/** Writes a rotation down, with its accounts and the signals for those that begin. */
@Injectable()
export class NewRotationWriter {
  constructor(
    private readonly audit: AuditService,
    private readonly outbox: Outbox,
    private readonly hosts: RotationHosts,
  ) {}

  async insert(tx: EntityManager, caller: Caller, entered: PlannedRotation): Promise<void> {
    const { id, nextKeyId, custody, order, places, demand } = entered;
    const { kind, id: callerId, name, ownerId, origin } = caller;
    const { keyId, dryRun, settings } = order;
    await this.hosts.lockHosts(tx, places, settings);
    await tx.insert(Rotation, {
      id,
      keyId,
      nextKeyId,
      custody,
      dryRun,
      status: demand === undefined ? 'RUNNING' : 'SURVEYING',
      approvalDemand: (demand ?? null) as never,
      settings,
      requestedBy: { kind, id: callerId, name },
      ownerId,
      correlation: origin.requestId,
    });
    const isSurvey = demand !== undefined || dryRun;
    const targets = places.map((place, i) => {
      const wave = dryRun ? 0 : waveOf(i, places.length);
      return { ...place, id: newId(), rotationId: id, wave, dueAt: wave === 0 || isSurvey ? new Date() : null };
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
        detail: { keyId, nextKeyId, custody, dryRun, targets: places.length, settings },
      },
    ]);
  }

  committed(): void {
    this.outbox.committed(ROTATION_QUEUE);
  }
}
