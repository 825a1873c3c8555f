import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { KeyEvidence, KeyType, VaultKey } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import { Remembered } from '../../platform/database/remembered.js';
import { Cursors, DEFAULT_LIMIT, type Page, type PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/http/problem.js';
import { Clock } from '../../platform/time/clock.js';
import type { KeyPurpose } from './signing-key-purpose.js';
import type { SigningKeyState } from './signing-key-state.js';

/** A key with one of its versions: the one that signs, unless another was asked for. */
export interface SigningKeyWithVersion {
  readonly keyId: string;
  readonly name: string;
  readonly type: KeyType;
  readonly purpose: KeyPurpose;
  readonly state: SigningKeyState;
  readonly notBefore: Date | null;
  readonly notAfter: Date | null;
  readonly version: number;
  readonly createdAt: Date;
  readonly publicKey: Buffer | null;
  readonly evidence: KeyEvidence | null;
  /** The certificate that was imported last for this version. */
  readonly certificateId: string | null;
}

export type ActiveKey = SigningKeyWithVersion & { readonly ckaId: Buffer; readonly publicKey: Buffer };

export interface KeyVersion {
  readonly version: number;
  /** The version that signs today. */
  readonly current: number;
  readonly publicKey: Buffer | null;
  readonly failedAt: Date | null;
  readonly createdAt: Date;
  readonly certificateId: string | null;
}

const CERTIFICATE = `LEFT JOIN LATERAL (SELECT id FROM certificate
  WHERE key_id = v.key_id AND key_version = v.version ORDER BY id DESC LIMIT 1) c ON true`;
const SELECT = `SELECT k.id AS "keyId", k.name, k.type, k.purpose, k.state, k.not_before AS "notBefore",
  k.not_after AS "notAfter", v.version, k.created_at AS "createdAt", v.cka_id AS "ckaId", v.public_key AS "publicKey",
  v.evidence, c.id AS "certificateId"
  FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id ${CERTIFICATE}`;

/** Finds signing keys. What signing needs of them is remembered for seconds; the accepting statement checks the state again. */
@Injectable()
export class SigningKeyReader {
  private readonly byName = new Remembered<ActiveKey>((name) => this.readActive('k.name = $1', name));
  private readonly byVersion = new Remembered<ActiveKey>((place) => this.readVersion(place));

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly cursors: Cursors,
    private readonly clock: Clock,
  ) {}

  /** The active key for this purpose with this name or id; without one, the configured key. */
  async active(nameOrId: string | undefined, purpose: KeyPurpose = 'signing'): Promise<ActiveKey> {
    const wanted = nameOrId ?? this.config.defaultKey;
    const key = isId(wanted) ? await this.readActive('k.id = $1', wanted) : await this.byName.find(wanted);
    if (key === null) throw await this.absence(wanted, nameOrId === undefined);
    if (key.purpose !== purpose)
      throw new Problem('forbidden', 'signing-key.purpose', `The key "${key.name}" is for ${key.purpose} alone.`);
    assertInDate(key, this.clock.now());
    return key;
  }

  /** A version of a key, whether it signs already or not; without a number, the newest that was made. Problem `signing-key.version`. */
  async version(id: string, number?: number): Promise<ActiveKey> {
    const rows: ActiveKey[] = await this.db.query(
      `${SELECT} WHERE k.id = $1 AND ($2::int IS NULL OR v.version = $2) AND v.public_key IS NOT NULL ORDER BY v.version DESC LIMIT 1`,
      [id, number ?? null],
    );
    if (rows[0] !== undefined) return rows[0];
    const key = await this.get(id);
    throw new Problem('conflict', 'signing-key.version', `The key "${key.name}" has no such version, or not yet.`);
  }

  /** What the vault needs to sign with one version of a key. Its state and dates are looked at once more. */
  async toSignWith(keyId: string, version: number): Promise<VaultKey> {
    const key = await this.byVersion.find(`${keyId} ${version}`);
    if (key === null) throw new Problem('conflict', 'signing-key.inactive', 'The key is not active any more.');
    assertInDate(key, this.clock.now());
    return key;
  }

  /** Nothing of this key is believed any longer in this process. */
  forget({ keyId, name, version }: Pick<SigningKeyWithVersion, 'keyId' | 'name' | 'version'>): void {
    this.byName.forget(name);
    this.byVersion.forget(`${keyId} ${version}`);
  }

  async get(id: string): Promise<SigningKeyWithVersion> {
    const rows: SigningKeyWithVersion[] = await this.db.query(`${SELECT} WHERE v.version = k.version AND k.id = $1`, [
      id,
    ]);
    if (rows[0] !== undefined) return rows[0];
    throw new Problem('missing', 'signing-key.missing', 'There is no signing key with this id.');
  }

  /** Every version, newest first. */
  async versions(id: string): Promise<KeyVersion[]> {
    await this.get(id);
    return this.db.query(
      `SELECT v.version, k.version AS current, v.public_key AS "publicKey", v.failed_at AS "failedAt", v.created_at AS "createdAt",
         c.id AS "certificateId"
       FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id ${CERTIFICATE} WHERE k.id = $1 ORDER BY v.version DESC`,
      [id],
    );
  }

  /** Newest first. */
  async list({ limit = DEFAULT_LIMIT, cursor }: PageQuery): Promise<Page<SigningKeyWithVersion>> {
    const [before = null] = this.cursors.read('signing-keys', cursor) ?? [];
    const rows: SigningKeyWithVersion[] = await this.db.query(
      `${SELECT} WHERE v.version = k.version AND ($1::uuid IS NULL OR k.id < $1) ORDER BY k.id DESC LIMIT $2`,
      [before, limit + 1],
    );
    return this.cursors.page('signing-keys', rows, limit, ({ keyId }) => [keyId]);
  }

  private async readActive(which: string, value: string): Promise<ActiveKey | null> {
    const rows: ActiveKey[] = await this.db.query(
      `${SELECT} WHERE v.version = k.version AND ${which} AND k.state = 'ACTIVE'`,
      [value],
    );
    return rows[0] ?? null;
  }

  private async readVersion(place: string): Promise<ActiveKey | null> {
    const [keyId, version] = place.split(' ');
    const rows: ActiveKey[] = await this.db.query(
      `${SELECT} WHERE k.id = $1 AND v.version = $2 AND k.state = 'ACTIVE'`,
      [keyId, version],
    );
    return rows[0] ?? null;
  }

  private async absence(wanted: string, isDefault: boolean): Promise<Problem> {
    const rows: { name: string }[] = await this.db.query(
      `SELECT name FROM signing_key WHERE (name = $1 OR id::text = $1) AND state = 'DISABLED'`,
      [wanted.toLowerCase()],
    );
    if (rows[0] !== undefined)
      return new Problem('conflict', 'signing-key.disabled', `The key "${rows[0].name}" is disabled.`);
    const errors = [{ pointer: '/key', detail: `no active signing key is named "${wanted}"` }];
    const detail = isDefault
      ? `No key was named, and the default key "${wanted}" does not exist.`
      : `There is no active signing key "${wanted}".`;
    return new Problem('refused', 'signing-key.unknown', detail, { errors });
  }
}

function assertInDate({ name, notBefore, notAfter }: ActiveKey, now: Date): void {
  if (notBefore !== null && now < notBefore)
    throw new Problem('conflict', 'signing-key.not-yet', `The key "${name}" signs from ${notBefore.toISOString()}.`);
  if (notAfter !== null && now >= notAfter)
    throw new Problem('conflict', 'signing-key.expired', `The key "${name}" signed until ${notAfter.toISOString()}.`);
}
