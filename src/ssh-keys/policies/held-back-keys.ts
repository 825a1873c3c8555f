import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { recordAlertEvents } from '../../platform/events/alert-events.js';
import type { RotationPolicy } from './rotation-policy.entity.js';

/** A key whose private key file a host has reported but not proven. */
interface Claimed {
  readonly keyId: string;
  readonly fingerprint: string;
  readonly host: string;
  readonly account: string;
  readonly path: string;
  /** Modification time of the private key file. */
  readonly modifiedAt: Date | null;
}

/**
 * HeldBackKeys records keys that a policy does not rotate because the evidence comes only from the host: the file that contains the private key, or the file's
 * modification time. Anyone with access to the account could forge this evidence and would then receive the new key.
 */
@Injectable()
export class HeldBackKeys {
  constructor(private readonly db: DataSource) {}

  /** Records new held-back keys, at most as many as the policy may rotate per hour, and raises an alert for each key. */
  async look(policy: RotationPolicy): Promise<void> {
    await this.db.transaction(async (tx) => {
      await this.forget(tx, policy);
      const claims = await this.claims(tx, policy);
      const rows = claims.map((claim) => ({
        key_id: claim.keyId,
        code: 'rotation.holder-claimed',
        detail: whyOf(claim),
      }));
      const { from, values } = columns(rows, { key_id: 'uuid', code: 'text', detail: 'text' });
      const kept: { keyId: string }[] = await tx.query(
        `INSERT INTO ssh_rotation_held_back (policy_id, key_id, code, detail)
         SELECT $${values.length + 1}::uuid, key_id, code, detail FROM ${from}
         ON CONFLICT DO NOTHING RETURNING key_id AS "keyId"`,
        [...values, policy.id],
      );
      const isNew = new Set(kept.map(({ keyId }) => keyId));
      await recordAlertEvents(
        tx,
        claims
          .filter(({ keyId }) => isNew.has(keyId))
          .map((claim) => ({
            type: 'rotation.critical',
            subject: { kind: 'ssh-key', id: claim.keyId, name: claim.fingerprint },
            facts: {
              where: `${claim.path} of ${claim.account} on ${claim.host}`,
              why: whyOf(claim),
              policy: policy.name,
            },
          })),
      );
    });
  }

  /** Deletes held-back keys whose custody has been set, that are retired, or whose file no longer exists. */
  private async forget(tx: EntityManager, { id }: RotationPolicy): Promise<void> {
    await tx.query(
      `DELETE FROM ssh_rotation_held_back b WHERE b.policy_id = $1 AND NOT EXISTS (
         SELECT 1 FROM ssh_key k JOIN ssh_key_location l ON l.key_id = k.id
         WHERE k.id = b.key_id AND k.state = 'ACTIVE' AND k.custody = 'unknown' AND l.kind = 'private-key' AND l.gone_at IS NULL)`,
      [id],
    );
  }

  /**
   * Returns keys with unknown custody that exceed the age limit. A key's age is measured from when it was first seen or from the modification time of its
   * file, whichever is earlier.
   */
  private claims(tx: EntityManager, { id, maxAgeDays, keyOwner, mostPerHour }: RotationPolicy): Promise<Claimed[]> {
    return tx.query(
      `SELECT k.id AS "keyId", k.fingerprint, h.name AS host, f.account, f.path, f.modified_at AS "modifiedAt"
       FROM ssh_key k JOIN LATERAL (
         SELECT host_id, account, path, modified_at FROM ssh_key_location
         WHERE key_id = k.id AND kind = 'private-key' AND gone_at IS NULL ORDER BY modified_at NULLS LAST, id LIMIT 1) f ON true
         JOIN host h ON h.id = f.host_id
       WHERE k.state = 'ACTIVE' AND k.blob IS NOT NULL AND k.custody = 'unknown'
         AND least(k.known_since, f.modified_at) < now() - make_interval(days => $1)
         AND ($2::text IS NULL OR k.owner = $2)
         AND EXISTS (SELECT 1 FROM ssh_key_location l WHERE l.key_id = k.id AND l.kind = 'authorized-key' AND l.gone_at IS NULL)
         AND NOT EXISTS (SELECT 1 FROM ssh_rotation_held_back b WHERE b.policy_id = $4 AND b.key_id = k.id)
       ORDER BY k.id LIMIT $3`,
      [maxAgeDays, keyOwner, mostPerHour, id],
    );
  }
}

function whyOf({ host, account, path, modifiedAt }: Claimed): string {
  const date = modifiedAt === null ? '' : `, dated ${modifiedAt.toISOString().slice(0, 10)}`;
  return `${host} reports this key in ${path} of ${account}${date}. The report is not proven: anyone with access to that account can write such a file, so the policy does not rotate the key. Find out who owns the key, then set the custody of the key with POST /v1/keys, or rotate the key manually.`;
}
