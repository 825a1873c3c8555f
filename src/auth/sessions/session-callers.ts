import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Config } from '../../platform/config/config.js';
import { uuidOf } from '../../platform/database/new-id.js';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import type { Origin } from '../../platform/http/origin.js';
import { Clock } from '../../platform/time/clock.js';
import type { Caller, CallerSession } from '../../access/caller.js';
import { secretHashOf } from '../model/secret-text.js';
import { bindingOf } from '../model/session.entity.js';
import {
  effectiveRights,
  type OwnedRow,
  ownedColumns,
  peopleOf,
  peopleOfRun,
  type PersonNow,
  personNow,
} from '../rights/effective-rights.js';
import { uploaderOf } from '../rights/secret-disclosures.js';
import type { Claims } from '../../access/identity/verified-identity.js';
import type { Scope } from '../../access/scopes.js';
import { workloadName } from '../model/workload-name.js';

/** The run of a workload with its trust, and the state of the person behind that. */
interface WorkloadRow {
  readonly trust_id: string | null;
  readonly trust_name: string;
  readonly trust_owner_id: string;
  readonly trust_owner: PersonNow | null;
  /** Who uploaded the present keys of its issuer; null: they are read by discovery. */
  readonly uploader_id: string | null;
  readonly uploader: PersonNow | null;
  readonly trust_scopes: Scope[];
  readonly trust_keys: string[];
  readonly claims: Claims;
  readonly token_sha256: string;
  readonly key_thumbprint: string;
}

/** The session with the state of the person and of the client behind it, at one moment. */
interface Row extends Partial<OwnedRow>, Partial<WorkloadRow> {
  readonly id: string;
  readonly user_id: string | null;
  readonly client_id: string | null;
  readonly scopes: Scope[] | null;
  readonly methods: string[];
  readonly cookie_hash: Buffer | null;
  readonly dpop_key: string | null;
  readonly client_certificate: string | null;
  readonly authenticated_at: Date;
  readonly stepped_up_at: Date | null;
  readonly email: string | null;
  readonly person: PersonNow | null;
  readonly client_name: string | null;
  readonly permissions: Scope[] | null;
}

type Known = Omit<Caller, 'origin'> & { readonly session: CallerSession };

interface KnownSession {
  readonly caller: Known;
  /** SHA-256 of the secret in the cookie; null for sessions with tokens. */
  readonly cookieHash: Buffer | null;
}

/** A session that is valid now: not ended, not expired, not idle for too long (browsers), its client not revoked and with the certificates of then, its provider enabled, its trust as it was and its issuer enabled. */
const READ = `
  SELECT s.id, s.user_id, s.client_id, s.scopes, s.methods, s.cookie_hash, s.dpop_key, s.client_certificate, s.authenticated_at, s.stepped_up_at,
    u.email, ${personNow('s.user_id')} AS person, c.name AS client_name, c.permissions, ${ownedColumns('c')},
    s.trust_id, t.name AS trust_name, t.owner_id AS trust_owner_id, ${personNow('t.owner_id')} AS trust_owner, t.scopes AS trust_scopes,
    up.id AS uploader_id, ${personNow(uuidOf('up.id'))} AS uploader,
    t.keys AS trust_keys, w.claims, w.token_sha256, w.key_thumbprint
  FROM auth_session s
  LEFT JOIN user_account u ON u.id = s.user_id
  LEFT JOIN oauth_client c ON c.id = s.client_id
  LEFT JOIN workload_trust t ON t.id = s.trust_id
  LEFT JOIN workload_issuer i ON i.id = t.issuer_id
  LEFT JOIN LATERAL (SELECT ${uploaderOf('i')} AS id) up ON true
  LEFT JOIN workload_identity w ON w.id = s.id
  WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > now()
    AND (s.cookie_hash IS NULL OR coalesce(s.last_used_at, s.created_at) > now() - make_interval(mins => $2))
    AND (s.client_id IS NULL OR (c.id IS NOT NULL AND c.revoked_at IS NULL
      AND (c.certificates_since IS NULL OR s.created_at >= c.certificates_since)))
    AND (s.trust_id IS NULL OR (t.enabled AND i.enabled AND t.revision = s.trust_revision AND w.id IS NOT NULL))
    AND (s.provider_id IS NULL OR EXISTS (SELECT 1 FROM identity_provider p WHERE p.id = s.provider_id AND p.enabled))`;

/** Turns sessions into callers, with the rights that person and client have now. */
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

  /** The caller whose token names this session; undefined if the session has ended or is a browser's. */
  async find(id: string, origin: Origin): Promise<Caller | undefined> {
    const known = await this.known.find(id);
    return known === null || known.cookieHash !== null ? undefined : this.use(known, origin);
  }

  /** The caller whose cookie has the secret of this session; undefined for another secret or an ended session. */
  async inBrowser(id: string, secret: string, origin: Origin): Promise<Caller | undefined> {
    const known = await this.known.find(id);
    const isRight = known?.cookieHash && timingSafeEqual(known.cookieHash, secretHashOf(secret));
    return isRight ? this.use(known, origin) : undefined;
  }

  private use({ caller }: KnownSession, origin: Origin): Caller {
    this.used.set(caller.session.id, { at: this.clock.now(), from: origin.address });
    return { ...caller, origin };
  }

  /** Drops the session from the cache: the next call reads its row again. */
  forget(id: string): void {
    this.known.forget(id);
  }

  /** Stores when sessions were last used: one statement for all of them every few seconds. */
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
      this.logger.warn(`last use of sessions was not stored: ${String(error)}`),
    );
  }

  /** The rights of the session now, past the cache; undefined if it has ended or a person behind it is disabled. */
  async rightsNow(id: string): Promise<ReadonlySet<Scope> | undefined> {
    return (await this.read(id))?.caller.scopes;
  }

  /** Whether the session is valid. An id is no credential: this admits nobody. */
  async isValid(id: string): Promise<boolean> {
    return (await this.known.find(id)) !== null;
  }

  private async read(id: string): Promise<KnownSession | null> {
    const [row]: Row[] = await this.db.query(READ, [id, this.config.browserIdleMinutes]);
    const caller = row === undefined ? undefined : callerOf(row);
    return row === undefined || caller === undefined ? null : { caller, cookieHash: row.cookie_hash };
  }
}

/** Undefined if a person behind it is disabled or was removed. */
function callerOf(row: Row): Known | undefined {
  const limits = [row.permissions, row.scopes, row.trust_scopes ?? null];
  const scopes = effectiveRights({ people: peopleBehind(row), limits });
  if (scopes === undefined) return undefined;
  const { id: sessionId, authenticated_at: authenticatedAt, stepped_up_at: steppedUpAt, methods } = row;
  const since = { authenticatedAt, steppedUpAt };
  const boundTo = bindingOf({ dpopKey: row.dpop_key, clientCertificate: row.client_certificate });
  const inBrowser = row.cookie_hash !== null;
  const session = { id: sessionId, ...since, methods, clientId: row.client_id, inBrowser, boundTo };
  if (isRun(row)) return { ...runOf(row), scopes, session };
  if (row.user_id === null) {
    const id = row.client_id ?? '';
    return { kind: 'oauth-client', id, name: row.client_name ?? '', ownerId: row.owner_id ?? '', scopes, session };
  }
  return { kind: 'user', id: row.user_id, name: row.email ?? '', ownerId: row.user_id, scopes, session };
}

function isRun(row: Row): row is Row & WorkloadRow {
  return row.trust_id !== null && row.trust_id !== undefined;
}

function runOf(row: Row & WorkloadRow): Pick<Known, 'kind' | 'id' | 'name' | 'ownerId' | 'identity' | 'keys'> {
  const {
    id,
    trust_id: trustId,
    trust_name: name,
    claims,
    token_sha256: tokenSha256,
    key_thumbprint: keyThumbprint,
  } = row;
  const identity = { id, trust: { id: trustId ?? '', name }, claims, tokenSha256, keyThumbprint };
  const caller = { kind: 'workload', id, name: workloadName(name, claims), ownerId: row.trust_owner_id } as const;
  return { ...caller, identity, keys: row.trust_keys };
}

/** The person who signed in, and the people behind the client that has the token; of a workload, those behind its trust and its issuer's keys. */
function peopleBehind(row: Row): readonly (PersonNow | null)[] {
  const { user_id: userId, person, client_id: clientId, owner = null } = row;
  const { owner_id = '', issued_to = null, receiver = null } = row;
  if (isRun(row)) return peopleOfRun({ owner: row.trust_owner, uploader_id: row.uploader_id, uploader: row.uploader });
  const ofClient = clientId === null ? [] : peopleOf({ owner_id, owner, issued_to, receiver });
  return userId === null ? [...ofClient] : [person, ...ofClient];
}
