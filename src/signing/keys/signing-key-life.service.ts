import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { type GeneratedKey, KeyVault } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { lockSealed } from '../../platform/sealing/sealed-rows.js';
import { changeKey } from './change-key.js';
import { SigningKey, type SigningKeyState } from './signing-key.entity.js';
import { SigningKeyReader } from './signing-key.reader.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';
import { identityOf, SigningKeyVersion } from './signing-key-version.entity.js';
import { confirmRead } from '../../platform/database/statements.js';

/** Creation of a version is considered abandoned after this time, because its process has died. */
const ABANDONED_AFTER_MS = 5 * 60_000;

export interface KeyRotationOrder {
  /** When the new version becomes active. `with-certificate`: when its certificate is imported. */
  readonly activate?: 'now' | 'with-certificate';
  readonly use?: IdempotentUse;
}

/** SigningKeyLifeService disables, enables and rotates keys. A rotation generates a new key pair under the same name. */
@Injectable()
export class SigningKeyLifeService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly reader: SigningKeyReader,
    private readonly idempotency: IdempotencyKeys,
  ) {
    this.record = audit.recorderFor('signing-key');
  }

  /**
   * Disables a key. After the commit, no request is accepted for the key. Queued requests fail when they are claimed; requests that are waiting for approval
   * fail within seconds.
   */
  disable(caller: Caller, id: string): Promise<SigningKeyWithVersion> {
    return this.move(caller, id, { from: 'ACTIVE', to: 'DISABLED', action: 'signing-key.disabled' });
  }

  enable(caller: Caller, id: string): Promise<SigningKeyWithVersion> {
    return this.move(caller, id, { from: 'DISABLED', to: 'ACTIVE', action: 'signing-key.enabled' });
  }

  /**
   * Generates another key pair under the same name. The old key pair stays in the token and signs the requests that were accepted for its version. Its
   * signatures verify with the public key and certificate that are stored with that version. A repeated call with the same Idempotency-Key does not generate
   * a second key pair: it finds the first key pair by its CKA_ID, which is derived from the resource ID of the first call.
   */
  async rotate(caller: Caller, id: string, { activate, use }: KeyRotationOrder): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(caller, id);
    const when = activate ?? (key.certificateId === null ? 'now' : 'with-certificate');
    const ckaId = ckaIdOf(use?.resource ?? newId());
    const version = await this.reserve(caller, id, ckaId, use);
    if (version === undefined) return this.reader.get(caller, id);
    try {
      const identity = identityOf(key.purpose, { ...key, version });
      const made = await this.vault.generate({ ckaId, identity, type: key.type });
      await this.db.transaction((tx) => this.keep(tx, caller, { id, version, when, from: key.version, made }));
    } catch (error) {
      await this.fail(caller, id, version);
      throw error;
    }
    this.reader.forget(key);
    return this.reader.get(caller, id);
  }

  /** Reserves the next version. Rotations are serialized by a lock on the key row. Returns undefined if an earlier call has reserved the version. */
  private async reserve(
    caller: Caller,
    id: string,
    ckaId: Buffer,
    use: IdempotentUse | undefined,
  ): Promise<number | undefined> {
    return this.db.transaction(async (tx) => {
      if (use !== undefined && !(await this.isFirst(tx, use))) return undefined;
      const key = await lockSealed(tx, SigningKey, { id });
      if (key?.state !== 'ACTIVE') throw inactive();
      const [row]: { last: number; making: boolean | null; next: boolean | null }[] = await tx.query(
        `SELECT max(v.version) AS last,
           bool_or(v.public_key IS NULL AND v.failed_at IS NULL AND v.created_at > now() - $2 * interval '1 ms') AS making,
           bool_or(v.public_key IS NOT NULL AND v.version > k.version) AS next
         FROM signing_key_version v JOIN signing_key k ON k.id = v.key_id WHERE v.key_id = $1`,
        [id, ABANDONED_AFTER_MS],
      );
      if (row?.making === true || row?.next === true)
        throw new Problem('conflict', 'signing-key.rotating', 'A rotation of this key is already in progress.');
      const version = (row?.last ?? 0) + 1;
      await tx.insert(SigningKeyVersion, { keyId: id, version, ckaId });
      await this.record(tx, caller, 'signing-key.rotation-requested', id, { version });
      return version;
    });
  }

  /**
   * Returns false if the key pair of an earlier call with this Idempotency-Key exists. Throws a Problem if that key pair is still being generated or could
   * not be generated.
   */
  private async isFirst(tx: EntityManager, use: IdempotentUse): Promise<boolean> {
    const earlier = await this.idempotency.earlier(tx, use);
    if (earlier === undefined) return true;
    const [pair] = await tx.findBy(SigningKeyVersion, { ckaId: ckaIdOf(earlier) });
    if (pair?.publicKey) return false;
    if (pair?.failedAt === null)
      throw new Problem('conflict', 'signing-key.rotating', 'A rotation of this key is already in progress.');
    throw new Problem(
      'conflict',
      'signing-key.rotation-failed',
      'The rotation with this Idempotency-Key failed. Retry with a new Idempotency-Key.',
    );
  }

  private async keep(
    tx: EntityManager,
    caller: Caller,
    order: { id: string; version: number; when: 'now' | 'with-certificate'; from: number; made: GeneratedKey },
  ): Promise<void> {
    const { id, version, when, from, made } = order;
    await stillMay(tx, caller);
    await tx.update(
      SigningKeyVersion,
      { keyId: id, version },
      { publicKey: made.publicKey, evidence: made.evidence, sealed: made.sealed ?? null },
    );
    if (when === 'now') await activateVersion(tx, id, version);
    await this.record(tx, caller, 'signing-key.rotated', id, { from, version, activate: when, ...made.evidence });
  }

  private async fail(caller: Caller, id: string, version: number): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.query(
        `UPDATE signing_key_version SET failed_at = now() WHERE key_id = $1 AND version = $2 AND public_key IS NULL`,
        [id, version],
      );
      await this.record(tx, caller, 'signing-key.rotation-failed', id, { version });
    });
  }

  /**
   * Reports whether the key is disabled according to the audit log. The row is not sufficient, because an old row of a disabled key could have been restored
   * in the database temporarily.
   */
  private isDisabled(tx: EntityManager, id: string): Promise<boolean> {
    return this.audit.isRecorded(tx, 'signing-key.disabled', id, 'signing-key.enabled');
  }

  private async move(
    caller: Caller,
    id: string,
    { from, to, action }: { from: SigningKeyState; to: SigningKeyState; action: string },
  ): Promise<SigningKeyWithVersion> {
    const key = await this.reader.get(caller, id);
    await this.db.transaction(async (tx) => {
      const moved = await changeKey(tx, id, ({ state }) => state === from, { state: to });
      if (moved === undefined && key.state !== to) throw inactive();
      if (moved === undefined && (to === 'ACTIVE' || (await this.isDisabled(tx, id)))) await confirmRead(tx);
      else await this.record(tx, caller, action, id, { from, to });
    });
    this.reader.forget(key);
    return this.reader.get(caller, id);
  }
}

/** Returns the 16 bytes of a UUID. */
function ckaIdOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

/** Activates a version that is newer than the active version. Throws Problem `signing-key.inactive` if the key is not active. */
export async function activateVersion(tx: EntityManager, keyId: string, version: number): Promise<void> {
  const isOlder = (key: SigningKey) => key.state === 'ACTIVE' && key.version < version;
  if ((await changeKey(tx, keyId, isOlder, { version })) === undefined) throw inactive();
}

function inactive(): Problem {
  return new Problem('conflict', 'signing-key.inactive', 'The key does not allow this operation in its current state.');
}
