import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { advisoryLock } from '../../../platform/database/statements.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { WORKER_ID, claimDue, whenDue } from '../../../platform/jobs/claim.js';
import { RotationTarget } from './rotation-target.entity.js';
import { Rotation } from './rotation.entity.js';
import type { Work } from './rotation-work.js';

/** DUE_TARGET selects the targets that a worker may claim. */
export const DUE_TARGET = {
  table: 'ssh_rotation_target',
  join: 'JOIN ssh_rotation r ON r.id = t.rotation_id',
  where: `t.outcome = 'OPEN' AND (t.due_at <= now() OR t.check_at <= now()) AND (t.lease_until IS NULL OR t.lease_until < now())
    AND r.finished_at IS NULL AND r.status <> 'PENDING_APPROVAL'
    AND NOT EXISTS (SELECT 1 FROM ssh_rotation_target o WHERE o.host_id = t.host_id AND o.id <> t.id AND o.lease_until > now())`,
  order: 't.due_at',
};

/** RotationClaims lets workers claim, renew and release targets. All times are those of the database. */
@Injectable()
export class RotationClaims {
  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
  ) {}

  /**
   * Claims a due target. Only one worker works on a host at a time. A target whose worker did not
   * return within its lease is claimed like any other: the next step determines its progress from the host.
   */
  async claim(): Promise<Work | undefined> {
    const id = await whenDue(this.db, DUE_TARGET, async (tx) => {
      // Claims are serialized. Otherwise two workers could claim two targets of one host.
      await advisoryLock(tx, 'ssh rotation claims');
      const [claimed] = await claimDue<Pick<RotationTarget, 'id'>>(
        tx,
        {
          ...DUE_TARGET,
          limit: 1,
          set: `fence = fence + 1, worker = $1, lease_until = now() + $2 * interval '1 second'`,
          returning: 't.id',
        },
        [WORKER_ID, this.config.sshRotationLeaseSeconds],
      );
      return claimed?.id;
    });
    return id === undefined ? undefined : this.read(id);
  }

  /** Returns false if another worker has claimed the target. */
  async renew({ target }: Work): Promise<boolean> {
    const [, renewed]: [unknown, number] = await this.db.query(
      `UPDATE ssh_rotation_target SET lease_until = now() + $3 * interval '1 second'
       WHERE id = $1 AND fence = $2 AND outcome = 'OPEN' AND lease_until > now()`,
      [target.id, target.fence, this.config.sshRotationLeaseSeconds],
    );
    return renewed === 1;
  }

  /** Releases a target and makes it due again in `seconds`. */
  async postpone({ target }: Work, seconds: number): Promise<void> {
    await this.db.query(
      `UPDATE ssh_rotation_target SET worker = NULL, lease_until = NULL, due_at = now() + $3 * interval '1 second'
       WHERE id = $1 AND fence = $2`,
      [target.id, target.fence, seconds],
    );
  }

  /** Releases a target. */
  async release({ target }: Work): Promise<void> {
    await this.db.query(
      `UPDATE ssh_rotation_target SET worker = NULL, lease_until = NULL WHERE id = $1 AND fence = $2`,
      [target.id, target.fence],
    );
  }

  async read(targetId: string): Promise<Work> {
    const { manager } = this.db;
    const target = await manager.findOneByOrFail(RotationTarget, { id: targetId });
    const rotation = await manager.findOneByOrFail(Rotation, { id: target.rotationId });
    const old = await this.key(rotation.keyId);
    const next = rotation.nextKeyId === null ? undefined : await this.key(rotation.nextKeyId);
    return { rotation, target, old, next };
  }

  private async key(id: string): Promise<SshKey & { blob: Buffer }> {
    const key = await this.db.manager.findOneByOrFail(SshKey, { id });
    const { blob } = key;
    if (blob === null) throw new Error('a key without a public half is not rotated');
    return Object.assign(key, { blob });
  }
}
