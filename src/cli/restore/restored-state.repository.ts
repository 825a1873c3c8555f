import { changeSealed, trustedRows } from '../../platform/sealing/sealed-rows.js';
import { User } from '../../auth/model/user.entity.js';
import { type EntityManager, In } from 'typeorm';
import type { RevokedSince } from './newer-log.js';

/**
 * Amount by which certificate serial numbers are advanced. The serial numbers issued after the backup are unknown, but no authority issues this many
 * certificates between a backup and its restore.
 */
const SERIALS_AHEAD = 2 ** 32;

/** RecordedKey is a key that the database expects in the token. */
export interface RecordedKey {
  readonly ckaId: Buffer;
  readonly what: string;
}

/** OpenWork counts rows that were in progress at the time of the backup. The actual state of this work may be ahead of the database. */
interface OpenWork {
  readonly what: string;
  readonly count: number;
}

/** RestoredState reports the state of a restored database and makes the changes required when an operator accepts the database. */
export class RestoredState {
  /** Returns the keys that the database expects in the token. */
  async keys(tx: EntityManager): Promise<RecordedKey[]> {
    return tx.query(
      `SELECT v.cka_id AS "ckaId", 'signing key ' || k.name || ' v' || v.version AS what
         FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE v.sealed IS NULL AND v.public_key IS NOT NULL AND v.destroyed_at IS NULL
       UNION ALL SELECT cka_id, 'SSH authority ' || name FROM ssh_authority
       UNION ALL SELECT cka_id, 'SSH key ' || key_id FROM ssh_key_secret WHERE cka_id IS NOT NULL
       UNION ALL SELECT cka_id, 'key of the audit log ' || origin FROM log_key WHERE public_key IS NOT NULL`,
    );
  }

  async openWork(tx: EntityManager): Promise<OpenWork[]> {
    const rows: { what: string; count: string }[] = await tx.query(
      `SELECT 'SSH rotations under way' AS what, count(*) FROM ssh_rotation WHERE finished_at IS NULL AND NOT dry_run
       UNION ALL SELECT 'signing requests that will be signed, or signed again', count(*) FROM signing_request
         WHERE status IN ('QUEUED', 'PROCESSING')
       UNION ALL SELECT 'signing requests that are pending approval', count(*) FROM signing_request WHERE status = 'PENDING_APPROVAL'
       UNION ALL SELECT 'emails that will be sent, or sent again', count(*) FROM mail_message WHERE sent_at IS NULL AND given_up_at IS NULL
       UNION ALL SELECT 'API keys that become valid again if they were revoked after the backup', count(*)
         FROM api_key WHERE revoked_at IS NULL AND expiry > now()
       UNION ALL SELECT 'people who can sign in again if they were disabled after the backup', count(*) FROM user_account WHERE NOT disabled`,
    );
    return rows.map(({ what, count }) => ({ what, count: Number(count) }));
  }

  /** Returns the time of the newest audit log entry. Later changes are lost. */
  async newestEntry(tx: EntityManager): Promise<Date | undefined> {
    const [row]: { at: Date | null }[] = await tx.query('SELECT max(at) AS at FROM audit_entry');
    return row?.at ?? undefined;
  }

  /**
   * Ends sessions, halts rotations, advances certificate serials, and repeats the revocations that were made after the backup. Returns the number of rows
   * affected.
   */
  async changes(tx: EntityManager, revoked: RevokedSince): Promise<Record<string, number>> {
    return {
      sessionsEnded: await affected(
        tx,
        `UPDATE auth_session SET ended_at = now(), ended_because = 'restored', seal = NULL WHERE ended_at IS NULL`,
      ),
      rotationsHalted: await affected(
        tx,
        `UPDATE ssh_rotation SET status = 'HALTED', failure_code = 'rotation.restored',
           failure_detail = 'The database was restored from a backup, so hosts may be ahead of the recorded state. Check the hosts before you continue.'
         WHERE finished_at IS NULL AND status IN ('SURVEYING', 'RUNNING')`,
      ),
      authoritiesMoved: await affected(tx, `UPDATE ssh_authority SET serial = serial + ${SERIALS_AHEAD}`),
      apiKeysRevoked: await affected(
        tx,
        `UPDATE api_key SET revoked_at = now(), seal = NULL WHERE revoked_at IS NULL AND id = ANY($1::uuid[])`,
        [revoked.apiKeys],
      ),
      peopleDisabled: await disablePeople(tx, revoked.people),
    };
  }
}

async function affected(tx: EntityManager, sql: string, values: unknown[] = []): Promise<number> {
  const [, count]: [unknown[], number] = await tx.query(sql, values);
  return count;
}

/** Disables the accounts. Accounts with an invalid seal are disabled as well, and lose their seal. */
async function disablePeople(tx: EntityManager, ids: readonly string[]): Promise<number> {
  const people = trustedRows(tx, User, await tx.findBy(User, { id: In([...ids]), disabled: false }));
  const known = In(people.map(({ id }) => id));
  const disabled = await changeSealed(tx, User, { id: known }, { disabled: true });
  const others = `UPDATE user_account SET disabled = true, seal = NULL WHERE NOT disabled AND id = ANY($1::uuid[])`;
  return disabled + (await affected(tx, others, [ids]));
}
