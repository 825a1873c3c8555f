import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { KeyEvidence, KeyType, VaultKey } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import { Remembered } from '../../platform/database/remembered.js';
import { Cursors, DEFAULT_LIMIT, type Page, type PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/http/problem.js';
import type { SigningKeyState } from './signing-key-state.js';

/** A key with the version that signs. */
export interface SigningKeyWithVersion {
  readonly keyId: string;
  readonly name: string;
  readonly type: KeyType;
  readonly state: SigningKeyState;
  readonly version: number;
  readonly createdAt: Date;
  readonly publicKey: Buffer | null;
  readonly evidence: KeyEvidence | null;
}

type ActiveKey = SigningKeyWithVersion & { readonly ckaId: Buffer; readonly publicKey: Buffer };

const SELECT = `SELECT k.id AS "keyId", k.name, k.type, k.state, v.version, k.created_at AS "createdAt",
  v.cka_id AS "ckaId", v.public_key AS "publicKey", v.evidence
  FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id`;

/** Finds signing keys. What signing needs of them is remembered for seconds; the accepting statement checks the state again. */
@Injectable()
export class SigningKeyReader {
  private readonly byName = new Remembered<ActiveKey>((name) => this.readActive('k.name = $1', name));
  private readonly byVersion = new Remembered<ActiveKey>((place) => this.readVersion(place));

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly cursors: Cursors,
  ) {}

  /** The active key with this name or id; without one, the configured key. */
  async active(nameOrId: string | undefined): Promise<ActiveKey> {
    const wanted = nameOrId ?? this.config.defaultKey;
    const key = isId(wanted) ? await this.readActive('k.id = $1', wanted) : await this.byName.find(wanted);
    if (key !== null) return key;
    const errors = [{ pointer: '/key', detail: `no active signing key is named "${wanted}"` }];
    const detail =
      nameOrId === undefined
        ? `No key was named, and the default key "${wanted}" does not exist.`
        : `There is no active signing key "${wanted}".`;
    throw new Problem('refused', 'signing-key.unknown', detail, { errors });
  }

  /** What the vault needs to sign with one version of a key. */
  async toSignWith(keyId: string, version: number): Promise<VaultKey> {
    const key = await this.byVersion.find(`${keyId} ${version}`);
    if (key === null) throw new Problem('conflict', 'signing-key.inactive', 'The key is not active any more.');
    return key;
  }

  async get(id: string): Promise<SigningKeyWithVersion> {
    const rows: SigningKeyWithVersion[] = await this.db.query(`${SELECT} AND v.version = k.version WHERE k.id = $1`, [
      id,
    ]);
    if (rows[0] !== undefined) return rows[0];
    throw new Problem('missing', 'signing-key.missing', 'There is no signing key with this id.');
  }

  /** Newest first. */
  async list({ limit = DEFAULT_LIMIT, cursor }: PageQuery): Promise<Page<SigningKeyWithVersion>> {
    const [before = null] = this.cursors.read('signing-keys', cursor) ?? [];
    const rows: SigningKeyWithVersion[] = await this.db.query(
      `${SELECT} AND v.version = k.version WHERE $1::uuid IS NULL OR k.id < $1 ORDER BY k.id DESC LIMIT $2`,
      [before, limit + 1],
    );
    return this.cursors.page('signing-keys', rows, limit, ({ keyId }) => [keyId]);
  }

  private async readActive(which: string, value: string): Promise<ActiveKey | null> {
    const rows: ActiveKey[] = await this.db.query(
      `${SELECT} AND v.version = k.version WHERE ${which} AND k.state = 'ACTIVE'`,
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
}
