import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { CredentialRights } from '../../auth/rights/credential-rights.js';
import { giversOf } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { AlertEvents } from '../../platform/events/alert-events.js';
import { RotationPolicy } from './rotation-policy.entity.js';

const PAUSED =
  "Paused: the last author of this policy may no longer order rotations. A user with keys:rotate can save it again; it then orders in that user's name.";

/** A policy may order rotations for as long as its last author may order them by hand. */
@Injectable()
export class RotationPolicyRights {
  constructor(
    private readonly db: DataSource,
    private readonly rights: CredentialRights,
    private readonly alertEvents: AlertEvents,
    private readonly audit: AuditService,
  ) {}

  /** Whether it may order now. If not, it is paused, and people are alerted. */
  async mayOrder({ id, name, version, madeBy, ownerId }: RotationPolicy): Promise<boolean> {
    if (await this.rights.allHold(giversOf(madeBy, ownerId), ['keys:rotate'])) return true;
    await this.db.transaction(async (tx) => {
      // Changed meanwhile: the next check is about the new author.
      const { affected } = await tx.update(
        RotationPolicy,
        { id, version, pausedBecause: IsNull() },
        { pausedBecause: PAUSED, version: version + 1 },
      );
      if (affected !== 1) return;
      const actor = { kind: 'system', id: 'rotation-policies', name: 'rotation-policies' } as const;
      const detail = { because: 'rights-lost', madeBy: madeBy.id, scope: 'keys:rotate' };
      const target = { kind: 'ssh-rotation-policy', id };
      await this.audit.append(tx, [
        { action: 'ssh-rotation-policy.paused', actor, target, correlation: newId(), detail },
      ]);
      await this.alertEvents.record(tx, [
        { type: 'rotation.critical', subject: { ...target, name }, facts: { why: PAUSED } },
      ]);
    });
    return false;
  }
}
