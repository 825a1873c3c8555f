import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { CredentialRights } from '../../auth/rights/credential-rights.js';
import { giversOf } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { recordAlertEvents } from '../../platform/events/alert-events.js';
import { isAsLogged, POLICY_ACTIONS } from './logged-policy.js';
import { RotationPolicy } from './rotation-policy.entity.js';

const CHANGED =
  'Paused: this policy differs from the audit log, so it was changed in the database. A user with keys:rotate must review it and save it again, or delete it.';
const PAUSED =
  'Paused: the last author of this policy can no longer request rotations. A user with keys:rotate can resume the policy by saving it again, and then becomes its author.';

/**
 * RotationPolicyRights allows a policy to request rotations only if the policy is unchanged since its last author wrote it, and only while the author has the
 * right to rotate keys.
 */
@Injectable()
export class RotationPolicyRights {
  constructor(
    private readonly db: DataSource,
    private readonly rights: CredentialRights,
    private readonly audit: AuditService,
    private readonly vouched: VouchedEntries,
  ) {}

  /** Reports whether the policy may request rotations now. If it may not, pauses the policy and raises an alert. */
  async mayOrder(policy: RotationPolicy): Promise<boolean> {
    const written = await this.vouched.about(this.db.manager, [policy.id], POLICY_ACTIONS);
    const isLogged = isAsLogged(policy, written.at(-1));
    if (isLogged && (await this.rights.allHold(giversOf(policy.madeBy, policy.ownerId), ['keys:rotate']))) return true;
    await this.pause(policy, isLogged ? { why: PAUSED, because: 'rights-lost' } : { why: CHANGED, because: 'changed' });
    return false;
  }

  private async pause(
    { id, name, version, madeBy }: RotationPolicy,
    { why, because }: { readonly why: string; readonly because: string },
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      // If the policy was changed in the meantime, the next check evaluates its new author.
      const { affected } = await tx.update(
        RotationPolicy,
        { id, version, pausedBecause: IsNull() },
        { pausedBecause: why, version: version + 1 },
      );
      if (affected !== 1) return;
      const actor = { kind: 'system', id: 'rotation-policies', name: 'rotation-policies' } as const;
      const detail = { because, madeBy: madeBy.id, scope: 'keys:rotate' };
      const target = { kind: 'ssh-rotation-policy', id };
      await this.audit.append(tx, [
        { action: 'ssh-rotation-policy.paused', actor, target, correlation: newId(), detail },
      ]);
      await recordAlertEvents(tx, [{ type: 'rotation.critical', subject: { ...target, name }, facts: { why } }]);
    });
  }
}
