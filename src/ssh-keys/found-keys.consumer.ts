import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../audit/entries/audit.service.js';
import { type AlertEvent, recordAlertEvents } from '../platform/events/alert-events.js';
import { Inbox } from '../platform/queue/inbox.js';
import { SshKeySightings } from './keys/ssh-key-sightings.js';
import { ROTATION_ACTOR } from './rotation/model/rotation.entity.js';

/** A key that a rotation removed from an account and that a scan found again. */
interface Drift {
  readonly rotationId: string;
  readonly keyId: string;
  readonly fingerprint: string;
  readonly hostId: string;
  readonly account: string;
  readonly path: string;
  readonly line: number | null;
}

/** RotationDrift detects keys that a rotation removed and that configuration management, an image or a user restored. */
@Injectable()
export class RotationDrift {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {}

  /** Compares the keys that a scan found on a host with the keys that rotations removed from that host. Each returned key is reported once. */
  async look(hostId: string, seenAt: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.query(
        `UPDATE ssh_rotation_target t SET drifted_at = NULL FROM ssh_rotation r
         WHERE r.id = t.rotation_id AND t.host_id = $1 AND t.drifted_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM ssh_key_location l WHERE ${IS_BACK})`,
        [hostId],
      );
      const [found]: [Drift[], number] = await tx.query(
        `UPDATE ssh_rotation_target SET drifted_at = now() FROM (
           SELECT DISTINCT ON (t.id) t.id AS back, r.id AS rotation, k.id AS key, k.fingerprint, l.path, l.line
           FROM ssh_rotation_target t JOIN ssh_rotation r ON r.id = t.rotation_id JOIN ssh_key k ON k.id = r.key_id
             JOIN ssh_key_location l ON ${IS_BACK}
           WHERE t.host_id = $1 AND t.outcome = 'PROVEN' AND t.drifted_at IS NULL ORDER BY t.id, l.path) found
         WHERE id = back
         RETURNING rotation AS "rotationId", key AS "keyId", fingerprint, host_id AS "hostId", account, path, line`,
        [hostId],
      );
      await this.audit.append(
        tx,
        found.map(({ rotationId, ...detail }) => ({
          action: 'ssh-rotation.drifted',
          outcome: 'failed',
          actor: ROTATION_ACTOR,
          target: { kind: 'ssh-rotation', id: rotationId },
          correlation: rotationId,
          detail: { ...detail, seenAt },
        })),
      );
      const hosts = await hostName(tx, hostId);
      await recordAlertEvents(tx, found.map((drift) => alertEventOf(drift, hosts, new Date(seenAt)))); // prettier-ignore
    });
  }
}

/** FoundKeysConsumer reads the keys found by scans from the inbox, records these keys, and detects keys that rotations had removed. */
@Injectable()
export class FoundKeysConsumer {
  constructor(inbox: Inbox, sightings: SshKeySightings, drift: RotationDrift) {
    inbox.serve('ssh-keys.found', async (found) => {
      await sightings.record(found);
      await drift.look(found.hostId, found.seenAt);
    });
  }
}

/** SQL predicate: the old key of rotation `r` was seen on the account of target `t` after its removal was verified. */
const IS_BACK = `l.key_id = r.key_id AND l.host_id = t.host_id AND l.account = t.account
  AND l.kind = 'authorized-key' AND l.gone_at IS NULL AND l.last_seen > t.finished_at`;

async function hostName(tx: EntityManager, id: string): Promise<string> {
  const rows: { name: string }[] = await tx.query(`SELECT name FROM host WHERE id = $1`, [id]);
  return rows[0]?.name ?? id;
}

function alertEventOf(
  { rotationId, keyId, fingerprint, account, path, line }: Drift,
  host: string,
  at: Date,
): AlertEvent {
  const where = `${path}${line === null ? '' : `:${line}`} of ${account} on ${host}`;
  const facts = { where, why: 'A rotation removed this key from the file.', rotation: rotationId };
  return { type: 'ssh-key.drift', subject: { kind: 'ssh-key', id: keyId, name: fingerprint }, at, facts };
}
