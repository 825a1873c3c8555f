import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { recordAlertEvents } from '../../../platform/events/alert-events.js';
import type { RotationStatus } from '../model/rotation-state.js';
import { type Rotation, ROTATION_ACTOR } from '../model/rotation.entity.js';
import type { RotationMove } from './rollout-rules.js';

/** Statuses that require human action, because the rotation does not continue automatically or a host is locked out. */
const NEEDS_PERSON: ReadonlySet<RotationStatus> = new Set(['HALTED', 'CRITICAL']);

/**
 * RotationNotices records the status changes of rotations, in the transaction of the change. All changes are recorded in the audit log. Changes that require
 * human action also raise an alert.
 */
@Injectable()
export class RotationNotices {
  constructor(private readonly audit: AuditService) {}

  async moved(tx: EntityManager, rotation: Rotation, { status, code, reason = status }: RotationMove): Promise<void> {
    await this.audit.append(tx, [
      {
        action: `ssh-rotation.${status.toLowerCase().replaceAll('_', '-')}`,
        outcome: NEEDS_PERSON.has(status) ? 'failed' : 'done',
        actor: ROTATION_ACTOR,
        target: { kind: 'ssh-rotation', id: rotation.id },
        correlation: rotation.correlation,
        detail: { from: rotation.status, to: status, keyId: rotation.keyId, nextKeyId: rotation.nextKeyId, code },
      },
    ]);
    if (NEEDS_PERSON.has(status)) await this.alertPeople(tx, rotation, reason);
    else await this.resolveAlert(tx, rotation);
  }

  /** Resolves the alert after the rotation has continued or finished. */
  private async resolveAlert(tx: EntityManager, { id, keyId }: Rotation): Promise<void> {
    const subject = { kind: 'ssh-rotation', id, name: `rotation of key ${keyId}` };
    await recordAlertEvents(tx, [{ type: 'rotation.critical', subject, over: true }]);
  }

  private async alertPeople(tx: EntityManager, { id, keyId }: Rotation, why: string): Promise<void> {
    const rows: { fingerprint: string; hosts: string | null; because: string | null }[] = await tx.query(
      `SELECT k.fingerprint, (SELECT t.failure_detail FROM ssh_rotation_target t
         WHERE t.rotation_id = $2 AND t.outcome IN ('BLOCKED', 'CRITICAL', 'FAILED_PRECHECK') ORDER BY t.wave, t.id LIMIT 1) AS because, (SELECT string_agg(DISTINCT h.name, ', ') FROM ssh_rotation_target t JOIN host h ON h.id = t.host_id
         WHERE t.rotation_id = $2 AND t.outcome IN ('BLOCKED', 'CRITICAL', 'FAILED_PRECHECK')) AS hosts
       FROM ssh_key k WHERE k.id = $1`,
      [keyId, id],
    );
    const name = `rotation of ${rows[0]?.fingerprint ?? keyId}`;
    const where = rows[0]?.hosts ?? undefined;
    const because = rows[0]?.because ?? why;
    const facts = {
      why: why.includes(because) ? why : `${why} ${because}`,
      ...(where === undefined ? {} : { where }),
    };
    await recordAlertEvents(tx, [{ type: 'rotation.critical', subject: { kind: 'ssh-rotation', id, name }, facts }]);
  }
}
