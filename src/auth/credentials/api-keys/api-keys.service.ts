import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource, type EntityManager, IsNull, MoreThan } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { Cursors, type Page } from '../../../platform/http/cursors.js';
import { filteredList, whereNamed } from '../../../platform/http/list-filter.js';
import type { NamedPageQuery } from '../../../platform/http/page.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import type { Actor, Caller } from '../../../access/caller.js';
import { faultOfGrant, type KeyPatterns } from '../../../access/key-patterns.js';
import { columns, confirmRead } from '../../../platform/database/statements.js';
import { TtlCache } from '../../../platform/database/ttl-cache.js';
import { sealsOf } from '../../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../../platform/sealing/row-text.js';
import { insertSealed, notWritten } from '../../../platform/sealing/sealed-rows.js';
import { Background } from '../../../platform/work/background.js';
import {
  effectiveRights,
  limitsBy,
  othersBehind,
  ownerColumns,
  type OwnerRows,
  peopleOf,
} from '../../rights/effective-rights.js';
import { recordDisclosure } from '../../rights/secret-disclosures.js';
import { PERSON_SCOPES, scopesBeyond, type Scope } from '../../../access/scopes.js';
import { AddressList } from '../../../formats/encoding/ip-address.js';
import { newApiKeyText, readApiKeyText } from './api-key-text.js';
import { ApiKey } from '../../model/api-key.entity.js';

export interface ApiKeyOrder {
  readonly name: string;
  readonly permissions: readonly Scope[];
  readonly expiry: Date;
  /** IP addresses and CIDR blocks from which the key can be used. If omitted, the key can be used from any address. */
  readonly addresses?: readonly string[];
  /** Names and patterns of the signing keys that the key can use. If omitted, the key can use the signing keys that its creator can use. */
  readonly keys?: readonly string[];
}

export interface NewApiKey {
  readonly row: ApiKey;
  /** The whole key, which is shown once and never stored. */
  readonly key: string;
}

/** A cached key. */
interface KnownKey {
  readonly secretHash: Buffer;
  readonly expiry: Date;
  readonly revoked: boolean;
  readonly addresses: AddressList | undefined;
  readonly ofSensor: boolean;
  readonly caller: Omit<Caller, 'origin'>;
}

interface KeyRow extends OwnerRows {
  readonly key: JsonRow;
  readonly of_sensor: boolean;
}

const MAX_LIFE_MS = 366 * 24 * 3600 * 1000;

/** ApiKeysService manages API keys for pipelines and sensors. A key is shown once and stored as a hash. Changes take effect in every process within seconds. */
@Injectable()
export class ApiKeysService implements OnApplicationShutdown {
  private readonly logger = new Logger(ApiKeysService.name);
  private readonly known = new TtlCache<KnownKey>((lookup) => this.read(lookup));
  private used = new Map<string, { readonly at: Date; readonly from: string; readonly ofSensor: boolean }>();

  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly audit: AuditService,
  ) {
    this.record = audit.recorderFor('api-key');
  }

  /** Creates a key. Only the result of this call contains the key itself. */
  async create(caller: Caller, order: ApiKeyOrder, use?: IdempotentUse): Promise<NewApiKey> {
    return this.db.transaction(async (tx) => {
      await this.idempotency.assertFirst(tx, use, (id) => `/api/settings/api-keys/${id}`);
      return this.createIn(tx, caller, order, use?.resource);
    });
  }

  /** Like `create`, inside the caller's transaction. */
  async createIn(tx: EntityManager, caller: Caller, order: ApiKeyOrder, id = newId()): Promise<NewApiKey> {
    const { name, expiry, permissions, addresses, keys = caller.keys } = order;
    this.assertGrantable(caller, { ...order, keys });
    assertUsableByPrograms(permissions);
    const { key, lookup, secretHash } = newApiKeyText();
    const entity = tx.create(ApiKey, {
      id,
      name,
      expiry,
      permissions: [...permissions],
      addresses: addresses === undefined ? null : [...addresses],
      signingKeys: keys === undefined ? null : [...keys],
      lookup,
      secretHash,
      ownerId: caller.ownerId,
      ...limitsBy(caller, caller.ownerId),
    });
    await insertSealed(tx, ApiKey, entity);
    await recordDisclosure(tx, caller, { kind: 'api-key', id, occasion: 'created' });
    await this.record(tx, caller, 'api-key.created', id, auditDetailOf(entity));
    return { row: await tx.findOneByOrFail(ApiKey, { id }), key };
  }

  /** Reports whether the key can be used and has not been replaced. */
  async isLive(tx: EntityManager, id: string): Promise<boolean> {
    const live = { revokedAt: IsNull(), replacedBy: IsNull(), expiry: MoreThan(new Date()) };
    return tx.existsBy(ApiKey, { id, ...live });
  }

  /** Reports whether the key is valid now. An ID is not a credential, so the result does not authenticate anyone. */
  async isValid(id: string): Promise<boolean> {
    const row = await this.db.manager.findOneBy(ApiKey, { id });
    const known = row === null ? null : await this.known.find(row.lookup);
    return known !== null && !known.revoked && known.expiry > new Date();
  }

  async get(id: string, tx: EntityManager = this.db.manager): Promise<ApiKey> {
    const row = await tx.findOneBy(ApiKey, { id });
    if (row === null) throw missing('api-key');
    return row;
  }

  async list({ limit, cursor, name, owner }: NamedPageQuery & { owner?: string }): Promise<Page<ApiKey>> {
    const query = this.db.createQueryBuilder(ApiKey, 'key');
    whereNamed(query, 'name', name);
    if (owner !== undefined) query.andWhere('key.ownerId = :owner', { owner });
    return this.cursors.newest(filteredList('api-keys', { name, owner }), query, { limit, cursor });
  }

  /** Revokes a key. Every process rejects the key within five seconds. The call is idempotent. */
  async revoke(caller: Caller, id: string): Promise<void> {
    this.forget(await this.db.transaction((tx) => this.revokeIn(tx, caller, id)));
  }

  /** Like `revoke`, inside the caller's transaction. */
  async revokeIn(tx: EntityManager, caller: Caller, id: string): Promise<ApiKey> {
    const row = await this.get(id, tx);
    const { affected } = await tx.update(ApiKey, { id, revokedAt: IsNull() }, { revokedAt: new Date(), seal: null });
    if (affected === 0) await tx.update(ApiKey, { id }, { seal: null });
    if (affected === 1 || !(await this.audit.isRecorded(tx, 'api-key.revoked', id)))
      await this.record(tx, caller, 'api-key.revoked', id, auditDetailOf(row));
    else await confirmRead(tx);
    return row;
  }

  /**
   * Revokes the keys that a user created, in the caller's transaction. Sensors' keys are not revoked, because a sensor's key belongs to the sensor and is
   * limited to the user's current rights.
   */
  async revokeAllIn(
    tx: EntityManager,
    by: Actor & { origin: Origin },
    ownerId: string,
    because: string,
  ): Promise<void> {
    const valid = `owner_id = $1 AND revoked_at IS NULL AND NOT EXISTS (SELECT FROM sensor_api_key s WHERE s.api_key_id = k.id)`;
    const [rows]: [{ id: string; name: string }[], number] = await tx.query(
      `UPDATE api_key k SET revoked_at = now(), seal = NULL WHERE ${valid} RETURNING id, name`,
      [ownerId],
    );
    // A trigger may have prevented the update of some rows.
    const left: unknown[] = await tx.query(`SELECT 1 FROM api_key k WHERE ${valid} LIMIT 1`, [ownerId]);
    if (left.length > 0) throw notWritten('api_key');
    for (const { id, name } of rows) await this.record(tx, by, 'api-key.revoked', id, { name, because });
  }

  /** Drops the person's keys from this process's cache, so that the next call reads the keys and their owner's roles again. */
  async forgetAllOf(personId: string): Promise<void> {
    const rows: { lookup: string }[] = await this.db.query(
      `SELECT lookup FROM api_key WHERE owner_id = $1 ORDER BY id DESC LIMIT 1000`,
      [personId],
    );
    for (const { lookup } of rows) this.known.forget(lookup);
  }

  /** Drops a changed key from this process's cache. */
  forget({ lookup }: Pick<ApiKey, 'lookup'>): void {
    this.known.forget(lookup);
  }

  /** Makes the next call with this key read the key's row, bypassing the cache. */
  expire(text: string): void {
    const parts = readApiKeyText(text);
    if (parts !== undefined) this.known.expire(parts.lookup);
  }

  /** Returns the caller that a key authenticates. Throws a Problem with the reason if the key is not accepted. */
  async authenticate(text: string, origin: Origin): Promise<Caller> {
    const parts = readApiKeyText(text);
    const known = parts === undefined ? null : await this.known.find(parts.lookup);
    if (parts === undefined || known === null || !timingSafeEqual(known.secretHash, parts.secretHash)) {
      throw new Problem(
        'unauthenticated',
        'auth.unknown-key',
        'This API key is invalid. Check that the whole key was sent.',
      );
    }
    const { expiry, revoked, addresses, ofSensor, caller } = known;
    const now = new Date();
    if (revoked) {
      const detail =
        'This API key was revoked, or the account of its owner or of another user who has seen the key was disabled. Ask an administrator for a new key.';
      throw new Problem('unauthenticated', 'auth.revoked-key', detail);
    }
    if (expiry <= now)
      throw new Problem(
        'unauthenticated',
        'auth.expired-key',
        `This API key expired at ${expiry.toISOString()}. Create a new key.`,
      );
    if (addresses !== undefined && !addresses.includes(origin.address))
      throw new Problem(
        'unauthenticated',
        'auth.key-address',
        `This API key cannot be used from the address ${origin.address}.`,
      );
    this.used.set(caller.id, { at: now, from: origin.address, ofSensor });
    return { ...caller, origin };
  }

  /**
   * Stores when keys were last used, with one statement for all keys every few seconds instead of one write per call. For a sensor's key, which is used every
   * few minutes, only the first use in each hour is stored. The sensor's heartbeat shows when the sensor was last seen.
   */
  @Background({ name: 'api-key-use', scope: 'process', every: 10_000 })
  async storeLastUse(): Promise<void> {
    if (this.used.size === 0) return;
    const used = [...this.used].map(([id, use]) => ({ id, ...use }));
    this.used = new Map();
    const { from, values } = columns(used, { id: 'uuid', at: 'timestamptz', from: 'text', ofSensor: 'boolean' });
    await this.db.query(
      `UPDATE api_key SET last_used_at = item.at, last_used_from = item."from"
       FROM ${from} WHERE api_key.id = item.id AND NOT (item."ofSensor" AND api_key.last_used_from IS NOT DISTINCT FROM item."from"
         AND api_key.last_used_at >= date_trunc('hour', item.at))`,
      values,
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.storeLastUse().catch((error: unknown) =>
      this.logger.warn(`unable to store the last use of API keys: ${String(error)}`),
    );
  }

  /** Reads the key with the rows of the people behind the key, because the current rights of these people limit the key. */
  private async read(lookup: string): Promise<KnownKey | null> {
    const [row]: (KeyRow | undefined)[] = await this.db.query(
      `SELECT to_jsonb(k) AS key, EXISTS (SELECT FROM sensor_api_key s WHERE s.api_key_id = k.id) AS of_sensor, ${ownerColumns('k')}
       FROM api_key k WHERE k.lookup = $1`,
      [lookup],
    );
    if (row === undefined) return null;
    const seals = sealsOf(this.db.manager);
    // A revoked key has no seal, but the error must report that the key was revoked.
    const read = seals.rowText(ApiKey).decoded(row.key);
    const key = read.revokedAt === null ? seals.trusted(ApiKey, read) : read;
    if (key === null || key.lookup !== lookup) return null;
    const people = key.revokedAt === null ? peopleOf(seals, key, row) : [];
    const rights = effectiveRights({ people, limits: [permissionsOf(key, row.of_sensor)] });
    const { id, name, ownerId } = key;
    const keys = key.signingKeys ?? undefined;
    return {
      secretHash: key.secretHash,
      expiry: key.expiry,
      revoked: rights === undefined,
      addresses: key.addresses === null ? undefined : new AddressList(key.addresses),
      ofSensor: row.of_sensor,
      caller: { kind: 'api-key', id, name, ownerId, behind: othersBehind(key), scopes: rights ?? new Set(), keys },
    };
  }

  /** Verifies that the caller has the granted scopes and can use the granted signing keys, and that the key expires within a year. */
  assertGrantable(caller: Caller, { permissions, expiry, keys }: ApiKeyOrder): void {
    assertHeld(caller, permissions);
    assertUsableKeys(caller, keys);
    const life = expiry.getTime() - new Date().getTime();
    if (life <= 0 || life > MAX_LIFE_MS) {
      const errors = [{ pointer: '/expiry', detail: 'must be in the future and at most 366 days from now' }];
      throw new Problem('refused', 'api-key.expiry', '/expiry: must be in the future and at most 366 days from now.', {
        errors,
      });
    }
  }
}

/** Rejects permissions that the caller does not have. @throws Problem 403 `api-key.beyond-caller` */
export function assertHeld({ scopes }: Caller, permissions: readonly Scope[]): void {
  const beyond = scopesBeyond(scopes, permissions);
  if (beyond.length === 0) return;
  const detail = `You cannot grant permissions that you do not have: ${beyond.join(', ')}.`;
  throw new Problem('forbidden', 'api-key.beyond-caller', detail);
}

/** Rejects signing keys that the caller cannot use. @throws Problem 403 `api-key.beyond-caller` */
export function assertUsableKeys(caller: Caller, keys: KeyPatterns): void {
  const fault = faultOfGrant(caller, keys);
  if (fault !== undefined) throw new Problem('forbidden', 'api-key.beyond-caller', fault);
}

/** Rejects the scope for voting. In existing keys, this scope has no effect. @throws Problem 422 `api-key.person-needed` */
export function assertUsableByPrograms(permissions: readonly Scope[]): void {
  if (!permissions.some((scope) => PERSON_SCOPES.includes(scope))) return;
  const errors = [{ pointer: '/permissions', detail: 'must not include approvals:approve, which only people can use' }];
  const detail =
    'API keys cannot vote on approvals. Remove approvals:approve from the permissions, and sign in as a person to vote.';
  throw new Problem('refused', 'api-key.person-needed', detail, { errors });
}

function auditDetailOf({ name, permissions, expiry, signingKeys }: ApiKey): Record<string, unknown> {
  return { name, permissions, expiry, keys: signingKeys ?? undefined };
}

/** Returns the effective scopes of a key. Earlier versions granted `inventory:write` to sensors' keys, but a sensor needs only `inventory:report`. */
function permissionsOf({ permissions }: ApiKey, ofSensor: boolean): Scope[] {
  if (!ofSensor) return permissions;
  return permissions.map((scope) => (scope === 'inventory:write' ? 'inventory:report' : scope));
}
