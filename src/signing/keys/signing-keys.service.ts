import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import type { Actor, Caller } from '../../access/caller.js';
import { assertIncludesKey } from '../../access/key-patterns.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { type GeneratedKey, isMlDsa, type KeyType, KeyVault } from '../../hsm/key-vault.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { Problem } from '../../platform/errors/problem.js';
import { changeSealed, insertSealed } from '../../platform/sealing/sealed-rows.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import type { KeyConstraints } from './key-constraints.js';
import { CALLER_PURPOSES, type KeyPurpose, keyPurposesFor, SigningKey, statesBefore } from './signing-key.entity.js';
import { SigningKeyReader } from './signing-key.reader.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';
import { identityOf, SigningKeyVersion } from './signing-key-version.entity.js';
import { confirmRead } from '../../platform/database/statements.js';

export interface NewSigningKey {
  readonly name: string;
  readonly type: KeyType;
  readonly purpose?: KeyPurpose;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly constraints?: KeyConstraints;
}

/** A key that has been GENERATING for this long is considered abandoned, because its process has died. */
const ABANDONED_AFTER = '5 minutes';

/** SigningKeysService creates signing keys in the HSM. */
@Injectable()
export class SigningKeysService {
  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly reader: SigningKeyReader,
  ) {}

  /**
   * Generates a key pair in the HSM. The row is committed first, so that the token contains no key without a row. The key becomes usable only after
   * the attributes that the token reports have been stored.
   *
   * @throws Problem `credential.key` if the caller could not use the key
   */
  async create(caller: Caller, order: NewSigningKey, use?: IdempotentUse): Promise<SigningKeyWithVersion> {
    assertIncludesKey(caller, order.name);
    const id = use?.resource ?? newId();
    const ckaId = randomBytes(16);
    const resource = await this.reserve(caller, { ...order, id, ckaId }, use);
    if (resource !== id) {
      const key = await this.reader.get(caller, resource);
      await confirmRead(this.db);
      return key;
    }
    try {
      const { name, type, purpose = 'signing' } = order;
      const identity = identityOf(purpose, { keyId: id, name, version: 1 });
      const generated = await this.vault.generate({ ckaId, identity, type });
      await this.activate(caller, id, generated);
    } catch (error) {
      await this.fail(caller, caller.origin.requestId, [id]);
      throw error;
    }
    return this.reader.get(caller, id);
  }

  /** Marks as failed the keys and versions whose creating process died. The names of these keys become available again. */
  async failAbandoned(): Promise<void> {
    await this.db.query(
      `UPDATE signing_key_version SET failed_at = now()
       WHERE public_key IS NULL AND failed_at IS NULL AND created_at < now() - interval '${ABANDONED_AFTER}'`,
    );
    const rows = await this.db
      .createQueryBuilder(SigningKey, 'key')
      .where(`key.state = 'GENERATING' AND key.createdAt < now() - interval '${ABANDONED_AFTER}'`)
      .getMany();
    const actor = { kind: 'system', id: 'schedule', name: 'schedule' } as const;
    if (rows.length > 0) {
      await this.fail(
        actor,
        'schedule',
        rows.map(({ id }) => id),
      );
    }
  }

  private async reserve(
    caller: Caller,
    order: NewSigningKey & { id: string; ckaId: Buffer },
    use: IdempotentUse | undefined,
  ): Promise<string> {
    const { id, name, type, ckaId, purpose = 'signing', notBefore = null, notAfter = null, constraints = {} } = order;
    assertSpan(notBefore, notAfter);
    assertConstrainable(purpose, constraints);
    assertSuits(type, purpose);
    const life = { purpose, notBefore, notAfter, constraints };
    const insert = async (tx: EntityManager) => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      const { ownerId } = caller;
      await insertSealed(tx, SigningKey, { id, name, type, state: 'GENERATING', version: 1, ...life, ownerId });
      await tx.insert(SigningKeyVersion, { keyId: id, version: 1, ckaId });
      const detail = { name, type, ...life };
      await this.audit.append(tx, [entry('signing-key.requested', caller, caller.origin.requestId, id, detail)]);
      return id;
    };
    const detail = `A signing key named "${name}" already exists.`;
    const errors = [{ pointer: '/name', detail: 'is taken' }];
    return writeUnique(this.db, insert, () => new Problem('conflict', 'signing-key.name-taken', detail, { errors }));
  }

  private async activate(
    caller: Caller,
    id: string,
    { publicKey, evidence, sealed = null }: GeneratedKey,
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      await stillMay(tx, caller);
      const made = await changeSealed(tx, SigningKey, { id, state: 'GENERATING' }, { state: 'ACTIVE' });
      if (made !== 1)
        throw new Problem('conflict', 'signing-key.abandoned', 'Key generation timed out and was cancelled. Retry.');
      await tx.update(SigningKeyVersion, { keyId: id, version: 1 }, { publicKey, evidence, sealed });
      await this.audit.append(tx, [
        entry('signing-key.generated', caller, caller.origin.requestId, id, { ...evidence }),
      ]);
    });
  }

  private async fail(actor: Actor, correlation: string, ids: string[]): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [moved]: [{ id: string }[], number] = await tx.query(
        `UPDATE signing_key SET state = 'FAILED', seal = NULL WHERE id = ANY($1::uuid[]) AND state = ANY($2) RETURNING id`,
        [ids, statesBefore('FAILED')],
      );
      const entries = moved.map(({ id }): NewEntry => ({
        ...entry('signing-key.failed', actor, correlation, id, {}),
        outcome: 'failed',
      }));
      await this.audit.append(tx, entries);
    });
  }
}

export function assertSpan(notBefore: Date | null, notAfter: Date | null): void {
  if (notBefore === null || notAfter === null || notBefore < notAfter) return;
  const errors = [{ pointer: '/notAfter', detail: 'must be later than notBefore' }];
  throw new Problem('malformed', 'signing-key.dates', '/notAfter: must be later than notBefore.', { errors });
}

/** Rejects constraints on timestamping and certificate keys, which sign only data from the service. No constraints are enforced for these keys. */
export function assertConstrainable(purpose: KeyPurpose, constraints: KeyConstraints): void {
  if (CALLER_PURPOSES.includes(purpose) || Object.keys(constraints).length === 0) return;
  const detail = `are not allowed for keys with the purpose ${purpose}`;
  const errors = [{ pointer: '/constraints', detail }];
  throw new Problem('malformed', 'key-policy.purpose', `/constraints: ${detail}.`, { errors });
}

/** Rejects ML-DSA for purposes other than code and documents. Certificates, timestamps, OpenPGP, SSH and TLS do not support ML-DSA yet. */
function assertSuits(type: KeyType, purpose: KeyPurpose): void {
  if (!isMlDsa(type) || keyPurposesFor(undefined).includes(purpose)) return;
  const errors = [{ pointer: '/type', detail: `is not supported for keys with the purpose ${purpose}` }];
  throw new Problem('malformed', 'signing-key.type', `/type: is not supported for keys with the purpose ${purpose}.`, {
    errors,
  });
}

function entry(
  action: string,
  actor: Actor & { origin?: { address: string } },
  correlation: string,
  id: string,
  detail: Record<string, unknown>,
): NewEntry {
  return { action, actor, target: { kind: 'signing-key', id }, correlation, source: actor.origin?.address, detail };
}
