import { changeSealed, insertSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { newId, uuidOf } from '../../../platform/database/new-id.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { Mailbox } from '../../../notifications/mail/mailbox.js';
import { Background } from '../../../platform/work/background.js';
import type { Caller } from '../../../access/caller.js';
import { limitsBy } from '../../rights/effective-rights.js';
import { recordDisclosure } from '../../rights/secret-disclosures.js';
import type { Scope } from '../../../access/scopes.js';
import { newApiKeyText } from './api-key-text.js';
import { ApiKey } from '../../model/api-key.entity.js';
import { ApiKeysService, type NewApiKey } from './api-keys.service.js';

export interface ApiKeyRotationOrder {
  readonly expiry: Date;
  /** Number of hours for which the old key remains valid; at most 168. */
  readonly overlapHours: number;
  /** Scopes of the new key; defaults to the scopes of the old key. */
  readonly permissions?: readonly Scope[];
}

/** Thresholds, in days before a key's expiry, at which an email is sent to the key's owner. */
const WARNINGS = [14, 3] as const;

/** Returns an SQL condition on api_key k: the key expires within `days` days, and the key's owner has not been warned at this threshold. */
const isToBeWarned = (days: number) => `k.revoked_at IS NULL AND k.replaced_by IS NULL AND k.expiry > now()
  AND k.expiry <= now() + interval '${days} days' AND (k.warned_days IS NULL OR k.warned_days > ${days})
  AND k.created_at < k.expiry - interval '${days} days'`;
const endingWithin = (days: number) => `SELECT FROM api_key k WHERE ${isToBeWarned(days)}`;

interface Due {
  readonly id: string;
  readonly name: string;
  readonly expiry: Date;
  readonly email: string | null;
}

/** ApiKeyRenewalService rotates API keys with an overlap, and sends owners an email before a key expires. */
@Injectable()
export class ApiKeyRenewalService {
  constructor(
    private readonly db: DataSource,
    private readonly apiKeys: ApiKeysService,
    private readonly audit: AuditService,
    private readonly mailbox: Mailbox,
  ) {}

  /**
   * Creates a key with the same name, permissions, addresses, signing keys and owner. The old key expires after the overlap. If the caller is not the owner,
   * the new key is also limited to the caller's rights, because the caller sees the key. The caller also counts as a requester of all requests made with the
   * new key.
   */
  async rotate(caller: Caller, id: string, order: ApiKeyRotationOrder): Promise<NewApiKey> {
    return this.db.transaction((tx) => this.rotateIn(tx, caller, id, order));
  }

  /** Like `rotate`, inside the caller's transaction. */
  async rotateIn(
    tx: EntityManager,
    caller: Caller,
    id: string,
    { expiry, overlapHours, permissions: wanted }: ApiKeyRotationOrder,
  ): Promise<NewApiKey> {
    const { key, lookup, secretHash } = newApiKeyText();
    const old = await tx.findOne(ApiKey, { where: { id }, lock: { mode: 'pessimistic_write' } });
    if (old === null) throw missing('api-key');
    if (old.revokedAt !== null || old.replacedBy !== null || old.expiry <= new Date()) {
      throw new Problem(
        'conflict',
        'api-key.over',
        'This API key cannot be rotated, because it was revoked or replaced, or has expired.',
      );
    }
    const { name, addresses, signingKeys, ownerId } = old;
    const permissions = [...(wanted ?? old.permissions)];
    this.apiKeys.assertGrantable(caller, { name, permissions, expiry, keys: signingKeys ?? undefined });
    const limits = limitsBy(caller, ownerId);
    const same = { name, permissions, addresses, signingKeys, ownerId };
    const next = { id: newId(), ...same, ...limits, expiry, lookup, secretHash };
    await insertSealed(tx, ApiKey, next);
    await recordDisclosure(tx, caller, { kind: 'api-key', id: next.id, occasion: 'rotated' });
    const end = new Date(Math.min(old.expiry.getTime(), Date.now() + overlapHours * 3_600_000));
    await changeSealed(tx, ApiKey, { id, revokedAt: IsNull() }, { expiry: end, replacedBy: next.id });
    const detail = { replacedBy: next.id, ends: end };
    await this.audit.appendBy(tx, caller, { action: 'api-key.rotated', target: { kind: 'api-key', id }, detail });
    return { row: await tx.findOneByOrFail(ApiKey, { id: next.id }), key };
  }

  /** Queues an email for every key that expires soon and has not been replaced. Each warning is sent once, even with several processes. */
  @Background({ name: 'api-key-warnings', scope: 'process', due: WARNINGS.map(endingWithin) })
  async warn(): Promise<void> {
    for (const days of WARNINGS) await this.db.transaction((tx) => this.warnAt(tx, days));
  }

  private async warnAt(tx: EntityManager, days: number): Promise<void> {
    const [due]: [Due[], number] = await tx.query(
      `UPDATE api_key k SET warned_days = $1
       FROM api_key before LEFT JOIN user_account u ON u.id = ${uuidOf('before.owner_id')} AND NOT u.disabled
       WHERE before.id = k.id AND ${isToBeWarned(days)}
       RETURNING k.id, k.name, k.expiry, u.email`,
      [days],
    );
    for (const { name, expiry, email } of due) {
      if (email === null) continue;
      await this.mailbox.put(tx, {
        recipient: email,
        subject: `Sealwright: API key "${name}" expires soon`,
        text: `The API key "${name}" expires at ${expiry.toISOString()}.\n\nRotate the key before then, in the console or with POST /api/settings/api-keys/{id}/rotate. The old key remains valid for a limited time.\n`,
        goodForSeconds: 3 * 24 * 3600,
      });
    }
  }
}
