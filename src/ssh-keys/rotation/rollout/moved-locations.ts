import type { EntityManager } from 'typeorm';
import { columns } from '../../../platform/database/statements.js';
import { newId } from '../../../platform/database/new-id.js';
import type { TargetFile } from '../model/rotation-target.entity.js';
import type { Rotation } from '../model/rotation.entity.js';

/** Replaces the old key's locations with locations of the new key, as proven by the rotation. The next scan adds line numbers. */
export async function moveLocations(tx: EntityManager, rotation: Rotation): Promise<void> {
  const { id, keyId, nextKeyId } = rotation;
  await moveHolder(tx, rotation);
  const targets: { hostId: string; account: string; files: TargetFile[] }[] = await tx.query(
    `SELECT host_id AS "hostId", account, plan->'files' AS files FROM ssh_rotation_target
     WHERE rotation_id = $1 AND outcome = 'PROVEN'`,
    [id],
  );
  const rows = targets.flatMap(({ hostId, account, files }) =>
    files.map(({ path, originals }) => {
      return { id: newId(), host_id: hostId, account, path, options: originals[0] || null };
    }),
  );
  const { from, values } = columns(rows, {
    id: 'uuid',
    host_id: 'uuid',
    account: 'text',
    path: 'text',
    options: 'text',
  });
  await tx.query(
    `UPDATE ssh_key_location l SET gone_at = now() FROM ${from}
     WHERE l.key_id = $${values.length + 1} AND l.kind = 'authorized-key' AND l.gone_at IS NULL
       AND l.host_id = item.host_id AND l.account = item.account AND l.path = item.path`,
    [...values, keyId],
  );
  await tx.query(
    `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, path, occurrence, options, first_seen, last_seen)
     SELECT id, $${values.length + 1}, host_id, 'authorized-key', account, path, 1, options, now(), now() FROM ${from}
     ON CONFLICT (host_id, path, kind, account, key_id, occurrence) DO UPDATE SET gone_at = NULL, last_seen = now()`,
    [...values, nextKeyId],
  );
}

/** Moves the location of the private key. The holder's file now contains the new key, which was proven when it was generated. */
async function moveHolder(tx: EntityManager, { keyId, nextKeyId, settings }: Rotation): Promise<void> {
  const { holder } = settings;
  if (holder === undefined) return;
  const place = [holder.hostId, holder.account, holder.path];
  await tx.query(
    `UPDATE ssh_key_location SET gone_at = now()
     WHERE host_id = $1 AND account = $2 AND path = $3 AND key_id = $4 AND kind = 'private-key' AND gone_at IS NULL`,
    [...place, keyId],
  );
  await tx.query(
    `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, path, occurrence, passphrase, first_seen, last_seen, proven_at)
     VALUES ($4, $5, $1, 'private-key', $2, $3, 1, false, now(), now(), now())
     ON CONFLICT (host_id, path, kind, account, key_id, occurrence) DO UPDATE SET gone_at = NULL, last_seen = now(), proven_at = now()`,
    [...place, newId(), nextKeyId],
  );
}
