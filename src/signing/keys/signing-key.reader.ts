import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { KeyType, VaultKey } from '../../hsm/key-vault.js';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { filteredList, nameIs } from '../../platform/http/list-filter.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { Clock } from '../../platform/work/clock.js';
import { namesIssuer } from '../../access/identity/verified-identity.js';
import { assertIncludesKey, includesKey, type KeyLimits } from '../../access/key-patterns.js';
import { hasSeveralIssuers } from '../../auth/workload/workload.repository.js';
import { assertPermitted, forbidden, type KeyUse } from './key-constraints.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { notSealed } from '../../platform/sealing/sealed-rows.js';
import {
  CALLER_PURPOSES,
  type KeyPurpose,
  keyPurposesFor,
  SigningKey,
  type SigningKeyState,
} from './signing-key.entity.js';
import { identityOf } from './signing-key-version.entity.js';
import type { SigningKeyWithVersion } from './signing-key-with-version.js';

export interface SigningKeyFilter extends PageQuery {
  /** A name, or a name prefix followed by `*`. */
  readonly name?: string;
  readonly state?: SigningKeyState;
  readonly purpose?: KeyPurpose;
  readonly type?: KeyType;
}

export interface KnownKey {
  readonly id: string;
  readonly name: string;
  readonly type: KeyType;
}

export type ActiveKey = SigningKeyWithVersion & { readonly ckaId: Buffer; readonly publicKey: Buffer };

/** Returns the key for a vault order, with this purpose instead of the purpose in its row. */
export function vaultKeyOf(key: ActiveKey, purpose: KeyPurpose): VaultKey {
  const { ckaId, type, publicKey, sealed } = key;
  return { ckaId, identity: identityOf(purpose, key), type, publicKey, sealed };
}

/** A key for a vault order, with the creation time of its version, which some formats need. */
export type SigningVaultKey = VaultKey & Pick<ActiveKey, 'madeAt'>;

/** A use that was accepted for one version of a key, at one revision of the key. */
export interface AcceptedUse extends KeyUse {
  readonly keyId: string;
  readonly keyVersion: number;
  readonly keyRevision: number;
  /** True if the service composed the signed structure. The key's constraints apply only to digests from callers. */
  readonly composed: boolean;
}

export interface KeyUsage {
  readonly today?: number;
  readonly lifetime?: number;
}

export interface KeyVersion {
  readonly version: number;
  /** The active version. */
  readonly current: number;
  readonly publicKey: Buffer | null;
  readonly failedAt: Date | null;
  readonly destroyedAt: Date | null;
  readonly createdAt: Date;
  readonly certificateId: string | null;
}

const CERTIFICATE = `LEFT JOIN LATERAL (SELECT id, not_after FROM certificate
  WHERE key_id = v.key_id AND key_version = v.version ORDER BY id DESC LIMIT 1) c ON true`;
const SELECT = `SELECT to_jsonb(k) AS key, v.version, k.created_at AS "createdAt", v.created_at AS "madeAt", v.cka_id AS "ckaId", v.public_key AS "publicKey",
  v.evidence, v.sealed, c.id AS "certificateId", c.not_after AS "certificateExpiresAt", d.destroy_at AS "destroyAt", d.finished_at AS "destroyedAt"
  FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id LEFT JOIN signing_key_destruction d ON d.key_id = k.id ${CERTIFICATE}`;

/**
 * SigningKeyReader finds signing keys. Data needed for signing is cached for seconds; the accepting statement checks the state and revision again. Every method
 * that finds a key for a call takes the caller's limits and rejects keys that the caller cannot use (`assertIncludesKey`): a key that is not found cannot sign.
 * A name is checked before it is looked up, so a rejection does not reveal whether the key exists.
 */
@Injectable()
export class SigningKeyReader {
  /** Keyed by name and by ID, because callers use either. */
  private readonly byNameOrId = new TtlCache<ActiveKey>((wanted) => this.readActive(wanted));
  private readonly byVersion = new TtlCache<ActiveKey>((place) => this.readVersion(place));

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly cursors: Cursors,
    private readonly clock: Clock,
    private readonly ledger: RightsLedger,
  ) {}

  /** Returns the active key with this name or ID and one of these purposes. Without a name, returns the configured key. */
  async active(
    limits: KeyLimits,
    nameOrId: string | undefined,
    purposes = keyPurposesFor(undefined),
  ): Promise<ActiveKey> {
    const wanted = this.wanted(limits, nameOrId);
    const key = await this.byNameOrId.find(cacheKeyOf(wanted));
    if (key === null) throw await this.absence(limits, wanted, nameOrId === undefined);
    assertIncludesKey(limits, key.name, wanted);
    if (!purposes.includes(key.purpose))
      throw new Problem('forbidden', 'signing-key.purpose', `Key "${key.name}" can be used only for ${key.purpose}.`);
    await this.assertNotDestroyed(key);
    assertInDate(key, this.clock.now());
    return key;
  }

  /** Returns a key by its name or ID, in any state. Without a name or ID, returns the configured key. */
  async known(limits: KeyLimits, nameOrId: string | undefined): Promise<KnownKey> {
    const wanted = this.wanted(limits, nameOrId);
    const rows: { key: JsonRow }[] = await this.db.query(
      `SELECT to_jsonb(k) AS key FROM signing_key k WHERE ${isId(wanted) ? 'id' : 'name'} = $1 AND state <> 'FAILED'`,
      [wanted],
    );
    if (rows[0] !== undefined) {
      const { id, name, type } = this.vouched(rows[0].key);
      assertIncludesKey(limits, name, wanted);
      return { id, name, type };
    }
    const errors = [{ pointer: '/key', detail: `no signing key is named "${wanted}"` }];
    throw new Problem('refused', 'signing-key.unknown', `Signing key "${wanted}" not found.`, { errors });
  }

  /**
   * Returns a version of a key, active or not. Without a number, returns the newest version that was generated. Throws Problem `signing-key.version`.
   */
  async version(limits: KeyLimits, id: string, number?: number): Promise<ActiveKey> {
    const rows: VersionRow[] = await this.db.query(
      `${SELECT} WHERE k.id = $1 AND ($2::int IS NULL OR v.version = $2) AND v.public_key IS NOT NULL ORDER BY v.version DESC LIMIT 1`,
      [id, number ?? null],
    );
    if (rows[0] !== undefined) return this.withKey(limits, rows[0]) as ActiveKey;
    const key = await this.get(limits, id);
    throw new Problem('conflict', 'signing-key.version', `Key "${key.name}" does not have the requested version.`);
  }

  /** Returns the key for a vault order, with the key version of an accepted use. State, dates and constraints are checked again. */
  async toSignWith(use: AcceptedUse): Promise<SigningVaultKey> {
    const place = `${use.keyId} ${use.keyVersion}`;
    const remembered = await this.byVersion.find(place);
    if (remembered?.revision !== use.keyRevision) this.byVersion.expire(place);
    const key = await this.byVersion.find(place);
    if (key === null) throw inactive();
    await this.assertNotDestroyed(key);
    const now = this.clock.now();
    assertInDate(key, now);
    if (!use.composed) await this.assertPermitted(key, use, now);
    // The token compares this purpose with the key's label, so a timestamping key never signs callers' digests, regardless of the content of the key's row.
    const vaultKey = vaultKeyOf(key, use.composed || CALLER_PURPOSES.includes(key.purpose) ? key.purpose : 'signing');
    return { ...vaultKey, madeAt: key.madeAt };
  }

  /**
   * Rejects a use that the key's constraints do not allow. While several issuers are enabled, a constraint on claims must name the issuer: otherwise, each of
   * the issuers could assert the claims.
   */
  async assertPermitted(key: Pick<ActiveKey, 'name' | 'type' | 'constraints'>, use: KeyUse, now: Date): Promise<void> {
    assertPermitted(key, use, now);
    const { verified } = key.constraints;
    if (verified === undefined || namesIssuer(verified) || !(await hasSeveralIssuers(this.db.manager))) return;
    const detail = `key "${key.name}" requires claims that any issuer can assert: add the iss claim to its constraints`;
    throw forbidden('key-policy.claim', '/key', detail);
  }

  /** Returns the reason why a key cannot sign, now or later, unless the key is changed. Returns undefined for any other key. */
  async whyStopped(id: string): Promise<Problem | undefined> {
    const [key]: (Stopped & { notAfter: Date })[] = await this.db.query(
      `SELECT k.name, k.state, k.not_after AS "notAfter", d.destroy_at AS "destroyAt"
       FROM signing_key k LEFT JOIN signing_key_destruction d ON d.key_id = k.id WHERE k.id = $1 AND ${isStopped('k')}`,
      [id],
    );
    if (key === undefined) return undefined;
    return key.state === 'ACTIVE' ? expired(key.name, key.notAfter) : stopped(key);
  }

  /** Returns the usage counts to which a key's limits apply. */
  async usage(keyId: string): Promise<KeyUsage> {
    const rows: { period: string; used: number }[] = await this.db.query(
      `SELECT CASE period WHEN 'lifetime' THEN period ELSE 'today' END AS period, used FROM signing_key_usage
       WHERE key_id = $1 AND period IN ('lifetime', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD'))`,
      [keyId],
    );
    return Object.fromEntries(rows.map(({ period, used }) => [period, used]));
  }

  /** Removes the key from the cache of this process. */
  forget({ keyId, name, version }: Pick<SigningKeyWithVersion, 'keyId' | 'name' | 'version'>): void {
    this.byNameOrId.forget(name);
    this.byNameOrId.forget(keyId);
    this.byVersion.forget(`${keyId} ${version}`);
  }

  /** Removes the key with this name or ID from the cache. Without a name or ID, removes the configured key. */
  forgetNamed(nameOrId: string | undefined): void {
    this.byNameOrId.expire(cacheKeyOf(nameOrId ?? this.config.defaultKey));
  }

  async get(limits: KeyLimits, id: string): Promise<SigningKeyWithVersion> {
    const rows: VersionRow[] = await this.db.query(`${SELECT} WHERE v.version = k.version AND k.id = $1`, [id]);
    if (rows[0] !== undefined) return this.withKey(limits, rows[0]);
    throw missing('signing-key');
  }

  /** Returns every version, newest first. */
  async versions(limits: KeyLimits, id: string): Promise<KeyVersion[]> {
    await this.get(limits, id);
    return this.db.query(
      `SELECT v.version, k.version AS current, v.public_key AS "publicKey", v.failed_at AS "failedAt", v.destroyed_at AS "destroyedAt",
         v.created_at AS "createdAt", c.id AS "certificateId"
       FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id ${CERTIFICATE} WHERE k.id = $1 ORDER BY v.version DESC`,
      [id],
    );
  }

  /** Returns the signing keys that the caller can use, newest first. */
  async list(
    limits: KeyLimits,
    { limit = DEFAULT_LIMIT, cursor, ...filter }: SigningKeyFilter,
  ): Promise<Page<SigningKeyWithVersion>> {
    const list = filteredList('signing-keys', filter);
    let [before = null] = this.cursors.read(list, cursor) ?? [];
    const { name, state, purpose, type } = filter;
    const found: SigningKeyWithVersion[] = [];
    for (let isLast = false; !isLast && found.length <= limit;) {
      const values: unknown[] = [before, limit + 1];
      const bind = (value: unknown) => `$${values.push(value)}`;
      const equal = Object.entries({ state, purpose, type }).filter(([, value]) => value !== undefined);
      const conditions = [
        ...equal.map(([column, value]) => `AND k.${column} = ${bind(value)}`),
        name === undefined ? '' : `AND ${nameIs('k.name', name, bind)}`,
      ].join(' ');
      const rows: VersionRow[] = await this.db.query(
        `${SELECT} WHERE v.version = k.version AND ($1::uuid IS NULL OR k.id < $1) ${conditions} ORDER BY k.id DESC LIMIT $2`,
        values,
      );
      const keys = rows.map((row) => withColumns(row, decodedKey(this.db, row.key)));
      found.push(...keys.filter((key) => includesKey(limits.keys, key.name)));
      before = keys.at(-1)?.keyId ?? null;
      isLast = rows.length <= limit;
    }
    return this.cursors.page(list, found, limit, ({ keyId }) => [keyId]);
  }

  /** Returns the name or ID of the key that a call requests: by default, the configured key. Rejects a name that the caller cannot use. */
  private wanted(limits: KeyLimits, nameOrId: string | undefined): string {
    const wanted = nameOrId ?? this.config.defaultKey;
    if (!isId(wanted)) assertIncludesKey(limits, wanted);
    return wanted;
  }

  /**
   * Asserts that the audit log does not record the key as destroyed, because rows from before the destruction of a key could have been restored together with
   * their seals.
   */
  private async assertNotDestroyed({ keyId }: ActiveKey): Promise<void> {
    const logged = await this.ledger.recent();
    if (logged === undefined && this.ledger.fault !== undefined) throw this.ledger.fault;
    if (logged?.destroyedKeys.has(keyId) === true) throw inactive();
  }

  private async readActive(nameOrId: string): Promise<ActiveKey | null> {
    const column = isId(nameOrId) ? 'k.id' : 'k.name';
    const rows: VersionRow[] = await this.db.query(
      `${SELECT} WHERE v.version = k.version AND ${column} = $1 AND k.state = 'ACTIVE'`,
      [nameOrId],
    );
    const isNamed = (key: SigningKey) => nameOrId === (isId(nameOrId) ? key.id : key.name);
    return this.activeKey(rows[0], (key) => isNamed(key) && rows[0]?.version === key.version);
  }

  private async readVersion(place: string): Promise<ActiveKey | null> {
    const [keyId, version] = place.split(' ');
    const rows: VersionRow[] = await this.db.query(
      `${SELECT} WHERE k.id = $1 AND v.version = $2 AND k.state = 'ACTIVE'`,
      [keyId, version],
    );
    return this.activeKey(rows[0], (key) => key.id === keyId && rows[0]?.version === Number(version));
  }

  /** Returns the key of a row if its sealed values match the query, so that PostgreSQL alone does not decide which key signs. */
  private activeKey(row: VersionRow | undefined, isWanted: (key: SigningKey) => boolean): ActiveKey | null {
    if (row === undefined) return null;
    const key = this.vouched(row.key);
    return key.state === 'ACTIVE' && isWanted(key) ? (withColumns(row, key) as ActiveKey) : null;
  }

  private withKey(limits: KeyLimits, row: VersionRow): SigningKeyWithVersion {
    const key = this.vouched(row.key);
    assertIncludesKey(limits, key.name, key.id);
    return withColumns(row, key);
  }

  /** @throws Problem `row.not-sealed` */
  private vouched(json: JsonRow): SigningKey {
    const key = decodedKey(this.db, json);
    // A key that was destroyed, or whose creation failed, signs nothing and has no seal.
    if (['FAILED', 'DESTROYED'].includes(key.state)) return key;
    if (sealsOf(this.db.manager).trusted(SigningKey, key) === null) throw notSealed('signing_key', key.id);
    return key;
  }

  private async absence(limits: KeyLimits, wanted: string, isDefault: boolean): Promise<Problem> {
    const rows: Stopped[] = await this.db.query(
      `SELECT k.name, k.state, d.destroy_at AS "destroyAt" FROM signing_key k LEFT JOIN signing_key_destruction d ON d.key_id = k.id
       WHERE (k.name = $1 OR k.id = $2::uuid) AND k.state IN ('DISABLED', 'PENDING_DESTRUCTION', 'DESTROYING', 'DESTROYED')`,
      [wanted.toLowerCase(), isId(wanted) ? wanted : null],
    );
    if (rows[0] !== undefined) {
      assertIncludesKey(limits, rows[0].name, wanted);
      return stopped(rows[0]);
    }
    const errors = [{ pointer: '/key', detail: `no active signing key is named "${wanted}"` }];
    const detail = isDefault
      ? `No key was specified, and the default key "${wanted}" does not exist. Specify a key.`
      : `No active signing key is named "${wanted}".`;
    return new Problem('refused', 'signing-key.unknown', detail, { errors });
  }
}

/** A row of SELECT. */
type VersionRow = Pick<ActiveKey, 'version' | 'createdAt' | 'madeAt' | 'publicKey' | 'evidence' | 'sealed' | 'ckaId'> &
  Pick<ActiveKey, 'certificateId' | 'certificateExpiresAt' | 'destroyAt' | 'destroyedAt'> & { readonly key: JsonRow };

function decodedKey(db: DataSource, json: JsonRow): SigningKey {
  return sealsOf(db.manager).rowText(SigningKey).decoded(json);
}

function withColumns({ key: _row, ...version }: VersionRow, key: SigningKey): SigningKeyWithVersion {
  const { id: keyId, name, type, purpose, state, notBefore, notAfter, constraints, revision } = key;
  return { keyId, name, type, purpose, state, notBefore, notAfter, constraints, revision, ...version };
}

/** Returns an ID in canonical form, regardless of how the caller wrote the ID, so that a cached value is invalidated under the same key. */
function cacheKeyOf(nameOrId: string): string {
  return isId(nameOrId) ? nameOrId.toLowerCase() : nameOrId;
}

interface Stopped {
  readonly name: string;
  readonly state: SigningKeyState;
  readonly destroyAt: Date | null;
}

function stopped({ name, state, destroyAt }: Stopped): Problem {
  if (state === 'DESTROYED')
    return new Problem('conflict', 'signing-key.destroyed', `The private key of "${name}" has been destroyed.`);
  if (state === 'DISABLED') return new Problem('conflict', 'signing-key.disabled', `Key "${name}" is disabled.`);
  const at = destroyAt?.toISOString() ?? 'once';
  return new Problem(
    'conflict',
    'signing-key.pending-destruction',
    `Key "${name}" is scheduled for destruction at ${at}.`,
  );
}

function assertInDate({ name, notBefore, notAfter }: ActiveKey, now: Date): void {
  if (notBefore !== null && now < notBefore)
    throw new Problem(
      'conflict',
      'signing-key.not-yet',
      `Key "${name}" cannot sign before ${notBefore.toISOString()}.`,
    );
  if (notAfter !== null && now >= notAfter) throw expired(name, notAfter);
}

function inactive(): Problem {
  return new Problem('conflict', 'signing-key.inactive', 'The key is no longer active.');
}

function expired(name: string, notAfter: Date): Problem {
  return new Problem('conflict', 'signing-key.expired', `Key "${name}" expired at ${notAfter.toISOString()}.`);
}

/** SQL predicate: the key in the row `alias` is disabled, is or will be destroyed, or its `notAfter` has passed. */
export function isStopped(alias: string): string {
  return `(${alias}.state <> 'ACTIVE' OR ${alias}.not_after <= now())`;
}
