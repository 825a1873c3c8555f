import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Caller, callerOfOrder } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import { claimDue } from '../../platform/work/claim.js';
import { Problem } from '../../platform/errors/problem.js';
import { Background } from '../../platform/work/background.js';
import type { SshKey } from '../keys/ssh-key.entity.js';
import type { SshKeyRotationOrder } from '../rotation/planning/rotation-planner.js';
import { RotationOrders } from '../rotation/rollout/rotation-flow.js';
import type { NewCustody, RotationSettings } from '../rotation/model/rotation.entity.js';
import { HeldBackKeys } from './held-back-keys.js';
import { LoggedKeys } from './logged-keys.js';
import { RotationPolicyRights } from './rotation-policy-rights.js';
import { RotationPolicy } from './rotation-policy.entity.js';

/** A key that is due for rotation, and the custody of the next key. */
interface AgedKey extends Pick<SshKey, 'id' | 'fingerprint' | 'custody' | 'owner'> {
  readonly nextCustody: NewCustody;
  readonly holder: NonNullable<RotationSettings['holder']> | null;
}

const DUE = { table: 'ssh_rotation_policy', where: 'due_at <= now() AND paused_because IS NULL', order: 'due_at' };
/** Interval after a failed rotation before the policy rotates the key again. */
const PAUSE = `interval '7 days'`;
/**
 * Maximum number of keys that a policy skips within an hour because they differ from the audit log, so that these keys do not prevent the rotation of other
 * keys.
 */
const MAX_SKIPPED = 100;

/**
 * AgedKeys requests rotations of keys that exceed the age limit, if the new private key can be delivered to its holder automatically. Eligible keys are keys in
 * the custody of the service or the HSM, and keys of a managed host with exactly one known file. Possession of the old key must be proven from that file before
 * anything is changed. Keys held by users must be rotated manually.
 */
@Injectable()
export class AgedKeys {
  private readonly logger = new Logger(AgedKeys.name);

  constructor(
    private readonly db: DataSource,
    private readonly orders: RotationOrders,
    private readonly heldBack: HeldBackKeys,
    private readonly rights: RotationPolicyRights,
    private readonly logged: LoggedKeys,
  ) {}

  /** Applies every policy that is due. Each policy is due once an hour. */
  @Background({ name: 'ssh-rotation-policies', scope: 'process', due: DUE })
  async applyDue(): Promise<void> {
    const due = await claimDue<Pick<RotationPolicy, 'id'>>(this.db, {
      ...DUE,
      limit: 10,
      set: `due_at = now() + interval '1 hour' + random() * interval '5 minutes'`,
      returning: 't.id',
    });
    for (const { id } of due)
      // A failed policy is due again in an hour and must not delay other policies.
      await this.apply(id).catch((error: unknown) =>
        this.logger.error(`rotation policy ${id} could not be applied: ${String(error)}`),
      );
  }

  private async apply(id: string): Promise<void> {
    const policy = await this.db.manager.findOneBy(RotationPolicy, { id });
    if (policy !== null && (await this.rights.mayOrder(policy))) await this.follow(policy);
  }

  private async follow(policy: RotationPolicy): Promise<void> {
    await this.heldBack.look(policy);
    let left = policy.mostPerHour;
    for (const key of await this.aged(policy)) {
      if (left === 0) return;
      try {
        if (!(await this.logged.agrees(key, policy.keyOwner !== null))) continue;
        left -= 1;
        await this.orders.place(callerOf(policy), orderOf(policy, key));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        this.logger.warn(`policy ${policy.id} could not rotate key ${key.id}: ${error.code}`);
      }
    }
  }

  private async aged({ maxAgeDays, keyOwner, mostPerHour }: RotationPolicy): Promise<AgedKey[]> {
    return this.db.query(
      `SELECT k.id, k.fingerprint, k.custody, k.owner,
         CASE WHEN k.custody IN ('service', 'hsm') THEN k.custody ELSE 'host' END AS "nextCustody",
         CASE WHEN k.custody NOT IN ('service', 'hsm') THEN json_build_object('hostId', f.host_id, 'account', f.account, 'path', f.path) END AS holder
       FROM ssh_key k LEFT JOIN LATERAL (
         SELECT host_id, account, path, count(*) OVER () AS files, count(proven_at) OVER () AS proven FROM ssh_key_location
         WHERE key_id = k.id AND kind = 'private-key' AND gone_at IS NULL AND passphrase IS DISTINCT FROM true
         ORDER BY proven_at DESC NULLS LAST LIMIT 1) f ON true
       WHERE k.state = 'ACTIVE' AND k.blob IS NOT NULL AND k.known_since < now() - make_interval(days => $1)
         AND ($2::text IS NULL OR k.owner = $2)
         AND (k.custody IN ('service', 'hsm') OR k.custody = 'host' AND (f.proven = 1 OR f.files = 1)
              AND EXISTS (SELECT 1 FROM host h WHERE h.id = f.host_id AND h.management_mode = 'managed'))
         AND EXISTS (SELECT 1 FROM ssh_key_location l WHERE l.key_id = k.id AND l.kind = 'authorized-key' AND l.gone_at IS NULL)
         AND NOT EXISTS (SELECT 1 FROM ssh_rotation r WHERE r.key_id = k.id AND NOT r.dry_run
              AND (r.finished_at IS NULL OR r.created_at > now() - ${PAUSE}))
       ORDER BY k.known_since LIMIT $3`,
      [maxAgeDays, keyOwner, mostPerHour + MAX_SKIPPED],
    );
  }
}

function orderOf({ settings }: RotationPolicy, { id, nextCustody: custody, holder }: AgedKey): SshKeyRotationOrder {
  const rules: RotationSettings = { ...settings, leaveOthers: false, ...(holder === null ? {} : { holder }) };
  return { keyId: id, custody, dryRun: false, settings: rules };
}

/** Returns the author of the policy as the caller. The author is the requester of the policy's rotations and therefore cannot approve these rotations. */
function callerOf({ id, madeBy, ownerId }: RotationPolicy): Caller {
  const origin = { requestId: `policy ${id} ${newId()}`, address: '' };
  return callerOfOrder(madeBy, { ownerId, using: ['keys:rotate'], origin });
}
