import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { HostUses } from '../../../hosts/records/host-uses.service.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Account } from '../model/rotation-places.js';
import type { RotationSettings } from '../model/rotation.entity.js';

/** Keeps hosts while a rotation needs them: on one that is gone it could neither be ended nor turned back. */
@Injectable()
export class RotationHosts {
  constructor(private readonly uses: HostUses) {
    uses.serve((tx, hostId) => this.assertUnused(tx, hostId));
  }

  /** In the transaction that enters the rotation. */
  async lockHosts(tx: EntityManager, places: readonly Account[], { holder }: RotationSettings): Promise<void> {
    const holders = holder === undefined ? [] : [holder.hostId];
    await this.uses.lockHosts(tx, [...new Set([...places.map(({ hostId }) => hostId), ...holders])]);
  }

  /** A host that was left out, or where the rotation has ended, is not needed any more. */
  private async assertUnused(tx: EntityManager, hostId: string): Promise<void> {
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
      `Rotation ${rotation.id} needs this host. Wait for its end, roll it back, or leave the host out of it.`,
      { instance: `/v1/rotations/${rotation.id}` },
    );
  }
}
