import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { advisoryLock } from '../../../platform/database/statements.js';
import { SshKey } from '../../keys/ssh-key.entity.js';
import { WORKER_ID, dueRows, whenDue } from '../../../platform/work/claim.js';
import { type ClaimedRow, WorkQueue } from '../../../platform/work/work-queue.js';
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

const QUEUE = {
  table: 'ssh_rotation_target',
  attempt: 'fence',
  dueAt: 'lease_until',
  open: `outcome = 'OPEN'`,
  columns: 't.worker',
  begin: `worker = '${WORKER_ID}'`,
};
const RELEASE = 'worker = NULL, lease_until = NULL';

/** RotationClaims claims targets for workers, renews their leases, and releases targets. */
@Injectable()
export class RotationClaims {
  private readonly queue: WorkQueue<ClaimedRow>;

  constructor(
    private readonly db: DataSource,
    { sshRotationLeaseSeconds: leaseSeconds }: Config,
  ) {
    this.queue = new WorkQueue(db, { ...QUEUE, leaseSeconds });
  }

  /**
   * Claims a due target. Only one worker works on a host at a time. A target whose lease has expired is claimed like any other target, because the next step
   * determines the progress from the host.
   */
  async claim(): Promise<Work | undefined> {
    const id = await whenDue(this.db, DUE_TARGET, async (tx) => {
      // Claims are serialized, because two workers could otherwise claim two targets on one host.
      await advisoryLock(tx, 'ssh rotation claims');
      const [claimed] = await this.queue.claimFrom(dueRows({ ...DUE_TARGET, limit: 1 }), [], tx);
      return claimed?.id;
    });
    return id === undefined ? undefined : this.read(id);
  }

  /**
   * Performs `work` and renews the lease until the work ends. An expired lease is not renewed, because another target on the same host may have been claimed in
   * the meantime.
   */
  hold({ target }: Work, work: () => Promise<void>): Promise<void> {
    const row = claimOf(target);
    return this.queue.hold(row, work, () =>
      this.queue.write(row, this.queue.lease, [], this.db, 'lease_until > now()'),
    );
  }

  /** Releases a target and makes it due again in `seconds`. */
  async postpone({ target }: Work, seconds: number): Promise<void> {
    await this.queue.write(claimOf(target), `${RELEASE}, due_at = now() + make_interval(secs => $3)`, [seconds]);
  }

  /** Releases a target. */
  async release({ target }: Work): Promise<void> {
    await this.queue.write(claimOf(target), RELEASE);
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
    if (blob === null) throw new Error('a key without a public key cannot be rotated');
    return Object.assign(key, { blob });
  }
}

function claimOf({ id, fence: attempt }: RotationTarget): ClaimedRow {
  return { id, attempt };
}
