import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isId, uuidOf } from '../../platform/database/new-id.js';
import { includesKey, type KeyPatterns } from '../../access/key-patterns.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../platform/sealing/row-text.js';
import { ApiKey } from '../model/api-key.entity.js';
import { User } from '../model/user.entity.js';
import { OAuthClient } from '../model/oauth.entity.js';
import { effectiveRights, othersBehind, type OwnerRows, ownerColumns, peopleOf } from './effective-rights.js';

type Giver = User | ApiKey | OAuthClient;

interface GiverRow extends OwnerRows {
  readonly kind: 'user' | 'key' | 'client';
  readonly giver: JsonRow;
}

const GIVER_ID = uuidOf('$1::text');

/**
 * SQL that selects the person, API key or OAuth client with the ID $1. Revoked keys and clients are omitted, because they have no rights. Expired and replaced
 * keys keep their rights.
 */
const GIVER = `
  SELECT 'user' AS kind, to_jsonb(u) AS giver, NULL::jsonb AS owner, NULL::jsonb AS receiver, NULL::jsonb AS others FROM user_account u WHERE u.id = ${GIVER_ID}
  UNION ALL SELECT 'key', to_jsonb(k), ${ownerColumns('k')} FROM api_key k WHERE k.id = ${GIVER_ID} AND k.revoked_at IS NULL
  UNION ALL SELECT 'client', to_jsonb(c), ${ownerColumns('c')} FROM oauth_client c WHERE c.id = ${GIVER_ID} AND c.revoked_at IS NULL`;

/**
 * CredentialRights returns the current rights behind schedules, rotation policies and invitations, which take effect without a session of their author. Each ID
 * identifies a person, an API key or an OAuth client. The rights of a key or client are limited to the rights of the people behind it.
 */
@Injectable()
export class CredentialRights {
  constructor(private readonly db: DataSource) {}

  /** Returns the current rights of a person, key or client; undefined if the person, key or client is disabled, revoked or unknown. */
  async of(id: string, tx: EntityManager = this.db.manager): Promise<ReadonlySet<Scope> | undefined> {
    return rightsOf(tx, id);
  }

  /** Reports whether the holder currently has all of these scopes. Returns false for a disabled or unknown holder, even with an empty list. */
  async holds(id: string, scopes: Iterable<Scope>, tx: EntityManager = this.db.manager): Promise<boolean> {
    return holdsNow(tx, id, scopes);
  }

  /** Reports whether each of these people, keys and clients currently has all of the scopes. */
  allHold(ids: readonly string[], scopes: readonly Scope[], tx: EntityManager = this.db.manager): Promise<boolean> {
    return allHoldNow(tx, ids, scopes);
  }

  /** Like `holds`, but also locks the roles of the people behind the ID until the transaction ends. */
  async holdsUntilCommit(tx: EntityManager, id: string, scopes: Iterable<Scope>): Promise<boolean> {
    const [row]: GiverRow[] = await tx.query(GIVER, [id]);
    const giver = row && giverIn(tx, row);
    if (!giver) return false;
    const behind = 'permissions' in giver ? [giver.ownerId, ...othersBehind(giver)] : [giver.id];
    await lockPeople(tx, behind);
    return this.holds(id, scopes, tx);
  }
}

/** lockPeople locks the accounts among these IDs against changes until the transaction ends. */
export async function lockPeople(tx: EntityManager, ids: readonly string[]): Promise<void> {
  await tx.query(`SELECT FROM user_account WHERE id = ANY($1::uuid[]) ORDER BY id FOR SHARE`, [ids.filter(isId)]);
}

/** allHoldNow reports whether each of these people, keys and clients has all of these scopes. Returns false for an empty list. */
export async function allHoldNow(
  tx: EntityManager,
  ids: readonly string[],
  scopes: readonly Scope[],
): Promise<boolean> {
  for (const id of ids) if (!(await holdsNow(tx, id, scopes))) return false;
  return ids.length > 0;
}

/**
 * holdsNow reports whether a person, an API key or an OAuth client has all of these scopes. Returns false if the person, key or client is disabled, revoked or
 * unknown.
 */
export async function holdsNow(tx: EntityManager, id: string, scopes: Iterable<Scope>): Promise<boolean> {
  const held = await rightsOf(tx, id);
  return held !== undefined && [...scopes].every((scope) => mayDo(held, scope));
}

/** Returns the current rights of a person, an API key or an OAuth client. Returns undefined if the person, key or client is disabled, revoked or unknown. */
export async function rightsOf(tx: EntityManager, id: string): Promise<ReadonlySet<Scope> | undefined> {
  return (await limitedRightsOf(tx, id))?.scopes;
}

/** limitedRightsOf is like rightsOf, but also returns the signing keys that the person, API key or OAuth client can use. */
export async function limitedRightsOf(
  tx: EntityManager,
  id: string,
): Promise<{ scopes: ReadonlySet<Scope>; keys: KeyPatterns } | undefined> {
  const [row]: GiverRow[] = await tx.query(GIVER, [id]);
  const giver = row && giverIn(tx, row);
  if (!giver) return undefined;
  const isPerson = !('permissions' in giver);
  const scopes = isPerson
    ? effectiveRights({ people: [giver], limits: [] })
    : effectiveRights({ people: peopleOf(sealsOf(tx), giver, row), limits: [giver.permissions] });
  return scopes && { scopes, keys: isPerson ? undefined : giver.signingKeys };
}

/** canUseKeys reports whether an API key or an OAuth client can use these signing keys. Returns false if the key or client is revoked or unknown. */
export async function canUseKeys(tx: EntityManager, id: string, names: readonly string[]): Promise<boolean> {
  const [row]: GiverRow[] = await tx.query(GIVER, [id]);
  const giver = row && giverIn(tx, row);
  if (!giver) return false;
  return !('permissions' in giver) || names.every((name) => includesKey(giver.signingKeys, name));
}

/** Returns the person, key or client in a row; null if the row does not match its seal, or if the key or client was revoked. */
function giverIn(tx: EntityManager, { kind, giver: row }: GiverRow): Giver | null {
  const seals = sealsOf(tx);
  const giver =
    kind === 'user'
      ? seals.opened(User, row)
      : kind === 'key'
        ? seals.opened(ApiKey, row)
        : seals.opened(OAuthClient, row);
  return giver !== null && 'revokedAt' in giver && giver.revokedAt !== null ? null : giver;
}
