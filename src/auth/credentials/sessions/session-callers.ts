import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Config } from '../../../platform/config/config.js';
import { uuidOf } from '../../../platform/database/new-id.js';
import { TtlCache } from '../../../platform/database/ttl-cache.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Clock } from '../../../platform/work/clock.js';
import type { Caller, CallerSession } from '../../../access/caller.js';
import { type RowSeals, sealsOf } from '../../../platform/sealing/row-seals.js';
import type { JsonRow } from '../../../platform/sealing/row-text.js';
import { Background } from '../../../platform/work/background.js';
import { secretHashOf } from '../../model/secret-text.js';
import { bindingOf, Session } from '../../model/session.entity.js';
import { admitsSession, OAuthClient } from '../../model/oauth.entity.js';
import { User } from '../../model/user.entity.js';
import {
  effectiveRights,
  hasKeyOfRun,
  othersBehind,
  ownerColumns,
  type OwnerRows,
  peopleOf,
  peopleNow,
  peopleOfRun,
  personIn,
  personNow,
  type RunRows,
} from '../../rights/effective-rights.js';
import { uploaderOf } from '../../rights/secret-disclosures.js';
import type { Scope } from '../../../access/scopes.js';
import { workloadName } from '../../model/workload-name.js';
import { IdentityProvider } from '../../model/identity-provider.entity.js';
import { WorkloadIdentity, WorkloadIssuer, WorkloadTrust } from '../../model/workload.entity.js';

/** The rows on which a session depends, read in one statement. Each row is verified against its seal before it is used. */
interface Row extends OwnerRows, Omit<RunRows, 'owner'> {
  readonly session: JsonRow;
  readonly person: JsonRow | null;
  readonly client: JsonRow | null;
  readonly trust: JsonRow | null;
  readonly issuer: JsonRow | null;
  readonly trust_owner: JsonRow | null;
  readonly run: JsonRow | null;
  readonly provider: JsonRow | null;
}

type Known = Omit<Caller, 'origin'> & { readonly session: CallerSession };

interface KnownSession {
  readonly caller: Known;
  /** SHA-256 of the secret in the cookie; null for sessions with tokens. */
  readonly cookieHash: Buffer | null;
}

/**
 * SQL that selects a session that has not ended or expired and, in a browser, has not been idle for too long, with the rows on which the session depends.
 * `callerOf` verifies the rows.
 */
const READ = `
  SELECT to_jsonb(s) - 'id_token' AS session, to_jsonb(u) AS person, to_jsonb(c) AS client, ${ownerColumns('c')}, to_jsonb(t) AS trust, to_jsonb(i) AS issuer,
    ${personNow('t.owner_id')} AS trust_owner, ${peopleNow('t.behind')} AS trust_others, ${peopleNow('i.behind')} AS issuer_others, up.id AS uploader_id, ${personNow(uuidOf('up.id'))} AS uploader, to_jsonb(w) AS run, to_jsonb(p) AS provider
  FROM auth_session s
  LEFT JOIN user_account u ON u.id = s.user_id
  LEFT JOIN oauth_client c ON c.id = s.client_id
  LEFT JOIN workload_trust t ON t.id = s.trust_id
  LEFT JOIN workload_issuer i ON i.id = t.issuer_id
  LEFT JOIN LATERAL (SELECT coalesce(i.uploader_id, ${uploaderOf('i')}) AS id) up ON true
  LEFT JOIN workload_identity w ON w.id = s.id
  LEFT JOIN identity_provider p ON p.id = s.provider_id
  WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > now()
    AND (s.cookie_hash IS NULL OR coalesce(s.last_used_at, s.created_at) > now() - make_interval(mins => $2))`;

/** SessionCallers resolves sessions to callers with the current rights of the person and the client. */
@Injectable()
export class SessionCallers implements OnApplicationShutdown {
  private readonly logger = new Logger(SessionCallers.name);
  private readonly known = new TtlCache<KnownSession>((id) => this.read(id));
  private used = new Map<string, { at: Date; from: string }>();

  constructor(
    private readonly db: DataSource,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** Returns the caller of a token with the given session ID; undefined if the session has ended or is a browser session. */
  async find(id: string, origin: Origin): Promise<Caller | undefined> {
    const known = await this.known.find(id);
    return known === null || known.cookieHash !== null ? undefined : this.use(known, origin);
  }

  /** Returns the caller of a browser session; undefined if the secret is wrong or the session has ended. */
  async inBrowser(id: string, secret: string, origin: Origin): Promise<Caller | undefined> {
    const known = await this.known.find(id);
    const isRight = known?.cookieHash && timingSafeEqual(known.cookieHash, secretHashOf(secret));
    return isRight ? this.use(known, origin) : undefined;
  }

  private use({ caller }: KnownSession, origin: Origin): Caller {
    this.used.set(caller.session.id, { at: this.clock.now(), from: origin.address });
    return { ...caller, origin };
  }

  /** Drops a session from this process's cache, because the session is being changed. */
  forget(id: string): void {
    this.known.forget(id);
  }

  /** Makes the next call in a session read the session's rows, bypassing the cache. */
  expire(id: string): void {
    this.known.expire(id);
  }

  /** Stores when sessions were last used, with one statement for all sessions every few seconds. */
  @Background({ name: 'session-use', scope: 'process', every: 10_000 })
  async storeLastUse(): Promise<void> {
    if (this.used.size === 0) return;
    const used = [...this.used];
    this.used = new Map();
    await this.db.query(
      `UPDATE auth_session SET last_used_at = item.at, last_used_from = item."from"
       FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS item(id, at, "from") WHERE auth_session.id = item.id`,
      [used.map(([id]) => id), used.map(([, { at }]) => at), used.map(([, { from }]) => from)],
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.storeLastUse().catch((error: unknown) =>
      this.logger.warn(`unable to store the last use of sessions: ${String(error)}`),
    );
  }

  /** Returns the current rights of the session, bypassing the cache; undefined if the session has ended, or if a person behind the session is disabled. */
  async rightsNow(id: string): Promise<ReadonlySet<Scope> | undefined> {
    return (await this.read(id))?.caller.scopes;
  }

  /** Reports whether the session is valid. An ID is not a credential, so the result does not authenticate anyone. */
  async isValid(id: string): Promise<boolean> {
    return (await this.known.find(id)) !== null;
  }

  private async read(id: string): Promise<KnownSession | null> {
    const [row]: Row[] = await this.db.query(READ, [id, this.config.browserIdleMinutes]);
    const seals = sealsOf(this.db.manager);
    const session = row === undefined ? null : seals.opened(Session, row.session);
    if (row === undefined || session?.id !== id.toLowerCase() || !isOpen(session, this.clock.now())) return null;
    seals.remember(User, seals.opened(User, row.person));
    const caller = callerOf(seals, session, row);
    return caller === undefined ? null : { caller, cookieHash: session.cookieHash };
  }
}

/** Repeats the conditions of the statement in the service, because the database is not trusted. */
function isOpen({ endedAt, expiresAt }: Session, now: Date): boolean {
  return endedAt === null && expiresAt > now;
}

/** Returns the caller of a session; undefined if a row on which the session depends is disabled, revoked, changed or missing. */
function callerOf(seals: RowSeals, session: Session, row: Row): Known | undefined {
  if (!isProviderEnabled(seals, session, row)) return undefined;
  const { id, authenticatedAt, steppedUpAt, methods, clientId } = session;
  const shown = { id, authenticatedAt, steppedUpAt, methods, clientId };
  const its = { ...shown, inBrowser: session.cookieHash !== null, boundTo: bindingOf(session) };
  if (session.trustId !== null) return runOf(seals, session, row, its);
  const client = clientId === null ? undefined : clientOf(seals, session, row);
  if (client === null) return undefined;
  const user = session.userId === null ? undefined : personIn(seals, session.userId, row.person);
  const people = client === undefined ? [] : peopleOf(seals, client, row);
  const limits = [client?.permissions ?? null, session.scopes];
  const scopes = effectiveRights({ people: user === undefined ? people : [user, ...people], limits });
  if (scopes === undefined || user === null) return undefined;
  const keys = signingKeysOf(client);
  if (user !== undefined) {
    const behind = client === undefined ? [] : controlling(client);
    return { kind: 'user', id: user.id, name: user.email, ownerId: user.id, behind, scopes, keys, session: its };
  }
  if (client === undefined) return undefined;
  const { name, ownerId } = client;
  return {
    kind: 'oauth-client',
    id: client.id,
    name,
    ownerId,
    behind: othersBehind(client),
    scopes,
    keys,
    session: its,
  };
}

/**
 * Returns the signing keys that a client can use now; undefined if every key is allowed. A change also applies to tokens that were issued before the change.
 */
function signingKeysOf(client: OAuthClient | undefined): readonly string[] | undefined {
  return client?.signingKeys ?? undefined;
}

/**
 * Returns the IDs of the people who can use the tokens that users grant to a client: the client's owner, who controls the program, and everyone who knows the
 * client's secret.
 */
function controlling(client: OAuthClient): string[] {
  return [client.ownerId, ...(client.secretHash === null ? [] : othersBehind(client))];
}

/** Reports whether the identity provider of a session is enabled. Returns true for a session without an identity provider. */
function isProviderEnabled(seals: RowSeals, { providerId }: Session, row: Row): boolean {
  if (providerId === null) return true;
  const provider = seals.opened(IdentityProvider, row.provider);
  return provider?.id === providerId && provider.enabled;
}

/** Returns the client of a session; null if the client was revoked, or if the client's secret, keys or certificates were replaced after the session began. */
function clientOf(seals: RowSeals, session: Session, row: Row): OAuthClient | null {
  const client = seals.opened(OAuthClient, row.client);
  return client?.id === session.clientId && admitsSession(client, session) ? client : null;
}

function uploadersOf({ keySource, uploaderId, behind }: WorkloadIssuer): string[] {
  return keySource === 'uploaded' && uploaderId !== null ? [uploaderId, ...(behind ?? [])] : [];
}

/**
 * runOf returns the caller for a workload's session. Returns undefined if the workload's trust has changed since the session began, the issuer is disabled, or
 * the key that signed the token is no longer among the issuer's uploaded keys.
 */
function runOf(seals: RowSeals, session: Session, row: Row, its: CallerSession): Known | undefined {
  const trust = seals.opened(WorkloadTrust, row.trust);
  const issuer = seals.opened(WorkloadIssuer, row.issuer);
  const run = seals.opened(WorkloadIdentity, row.run);
  if (trust === null || issuer === null || run === null) return undefined;
  const isSame = trust.id === session.trustId && trust.revision === session.trustRevision && run.id === session.id;
  if (!isSame || trust.issuerId !== issuer.id || !trust.enabled || !issuer.enabled) return undefined;
  if (!hasKeyOfRun(issuer, run)) return undefined;
  const people = peopleOfRun(seals, trust, issuer, { ...row, owner: row.trust_owner });
  const scopes = effectiveRights({ people, limits: [session.scopes, trust.scopes] });
  if (scopes === undefined) return undefined;
  const { claims, tokenSha256, keyThumbprint } = run;
  const identity = { id: session.id, trust: { id: trust.id, name: trust.name }, claims, tokenSha256, keyThumbprint };
  const caller = {
    kind: 'workload',
    id: session.id,
    name: workloadName(trust.name, claims),
    ownerId: trust.ownerId,
    behind: [...(trust.behind ?? []), ...uploadersOf(issuer)],
  } as const;
  return { ...caller, identity, keys: trust.keys, scopes, session: its };
}
