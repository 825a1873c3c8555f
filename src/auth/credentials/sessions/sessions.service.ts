import { changeSealed, insertSealed, notWritten } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import type { Actor, TokenBinding } from '../../../access/caller.js';
import { newId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem, missing } from '../../../platform/errors/problem.js';
import { Seal } from '../../../platform/sealing/seal.js';
import { Clock } from '../../../platform/work/clock.js';
import { Background } from '../../../platform/work/background.js';
import type { Caller } from '../../../access/caller.js';
import type { Scope } from '../../../access/scopes.js';
import { assertStillGranted, type SessionGrounds } from './session-grounds.js';
import { SessionCallers } from './session-callers.js';
import { recordSignInEnds } from './sign-in-ends.js';
import { Session, type SignInWay } from '../../model/session.entity.js';

export interface NewSession {
  /** ID of the session; defaults to a new ID. */
  readonly id?: string;
  readonly userId?: string;
  readonly clientId?: string;
  /** Grounds for the sign-in, which must still be valid when the session opens. */
  readonly grounds?: Pick<SessionGrounds, 'password' | 'client'>;
  /** The trust through which the token is issued to a workload. */
  readonly workload?: { readonly trustId: string; readonly trustRevision: number };
  readonly way: SignInWay;
  /** Scopes of the tokens; if absent, the tokens have all scopes of the person. */
  readonly scopes?: readonly Scope[];
  readonly methods: readonly string[];
  /** The keys to which the tokens are bound; if absent, the tokens are bearer tokens. */
  readonly boundTo?: TokenBinding;
  /** The identity provider through which the person signed in, with the provider's ID for the session and the logout hint. */
  readonly external?: {
    readonly providerId: string;
    readonly session: string | null;
    readonly logoutHint: string | null;
  };
  /** Time at which the person authenticated; defaults to the current time. */
  readonly authenticatedAt?: Date;
  /** For browser sessions: SHA-256 of the secret in the cookie. */
  readonly cookieHash?: Buffer;
  /** Maximum lifetime of the session, in seconds, which refreshing does not extend. */
  readonly lifeSeconds: number;
  /** Time at which the session ends, if earlier than the end of its maximum lifetime. */
  readonly until?: Date | undefined;
  /** Additional facts for the audit entry. */
  readonly detail?: Record<string, unknown> | undefined;
}

/** Maximum lifetime of a person's session, in seconds, even if the session is in use. */
export const SESSION_SECONDS = 30 * 24 * 3600;

/** Maximum number of a person's open sessions, similar to the limits of GitLab and Google. Further sign-ins end the oldest sessions. */
const MAX_OPEN_SESSIONS = 500;

/** Maximum number of sessions ended by one statement. Larger statements could exceed the database's statement timeout. */
const ENDED_AT_ONCE = 1000;

/** Reason that is recorded for a session that the person ended by signing out. */
export const SIGNED_OUT = 'signed-out';

const SEAL = 'id token';
export const SEALED_LOGOUT_HINT = {
  table: 'auth_session',
  column: 'id_token',
  purpose: SEAL,
  place: 't.id::text',
} as const;

/** A step-up: the person authenticated again within a session. */
export interface Renewal {
  /** ID of the session. */
  readonly id: string;
  /** Authentication methods (RFC 8176). */
  readonly methods: readonly string[];
  /** Time of the step-up; defaults to the current time. */
  readonly at?: Date;
  /** Additional facts for the audit entry. */
  readonly detail?: Record<string, unknown> | undefined;
}

interface Ended {
  readonly id: string;
  readonly user_id: string | null;
}

/** A logout at a provider. It ends the given sessions, all of a person's sessions, or a person's given sessions. */
export interface ExternalEnd {
  readonly providerId: string;
  readonly sessions?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** Only sessions that began before this time are ended, so that a replayed logout is harmless. */
  readonly before: Date;
}

/** SessionsService manages sessions, with one row per sign-in. Every process rejects an ended session within five seconds. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly callers: SessionCallers,
    private readonly clock: Clock,
    private readonly seal: Seal,
  ) {}

  /**
   * Adds a session and its audit entry in the caller's transaction.
   *
   * @throws Problem `auth.changed-meanwhile`
   */
  async open(tx: EntityManager, actor: Actor, order: NewSession, origin: Origin): Promise<Session> {
    const { id = newId(), userId, external, grounds } = order;
    await assertStillGranted(tx, { userId, providerId: external?.providerId, ...grounds });
    const session = tx.create(Session, {
      id,
      userId: order.userId ?? null,
      clientId: order.clientId ?? null,
      ...trustOf(order),
      way: order.way,
      ...this.externalColumns(id, order),
      scopes: order.scopes === undefined ? null : [...order.scopes],
      cookieHash: order.cookieHash ?? null,
      dpopKey: order.boundTo?.dpopKey ?? null,
      clientCertificate: order.boundTo?.certificate ?? null,
      methods: [...order.methods],
      createdAt: this.clock.now(),
      authenticatedAt: order.authenticatedAt ?? this.clock.now(),
      ...this.endsOf(order),
      address: origin.address,
      agent: origin.agent ?? '',
    });
    await this.endOldestOf(tx, { ...actor, origin }, userId);
    await insertSealed(tx, Session, session);
    const isPerson = order.userId !== undefined;
    const action = isPerson ? 'auth.signed-in' : 'auth.token-issued';
    const methods = isPerson ? { methods: order.methods } : {};
    const common = { way: order.way, session: session.id, scopes: order.scopes, ...methods };
    const detail = { ...common, ...order.boundTo, ...order.detail };
    const target = { kind: actor.kind, id: actor.id };
    await this.audit.appendBy(tx, { ...actor, origin }, { action, target, detail });
    return session;
  }

  /** Ends the oldest sessions of a person who would exceed MAX_OPEN_SESSIONS with another session. Sessions without a person are not limited. */
  private async endOldestOf(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    userId: string | undefined,
  ): Promise<void> {
    if (userId === undefined) return;
    const oldest: { id: string }[] = await tx.query(
      `SELECT id FROM auth_session WHERE user_id = $1 AND ended_at IS NULL AND expires_at > now()
       ORDER BY id DESC OFFSET ${MAX_OPEN_SESSIONS - 1} LIMIT ${ENDED_AT_ONCE}`,
      [userId],
    );
    if (oldest.length > 0)
      await this.endIn(tx, actor, 'too-many-sessions', 'id = ANY($2)', [oldest.map(({ id }) => id)]);
  }

  private endsOf({ lifeSeconds, until }: NewSession): Pick<Session, 'expiresAt' | 'providerEnd'> {
    const end = this.clock.now().getTime() + lifeSeconds * 1000;
    return { expiresAt: new Date(Math.min(end, until?.getTime() ?? end)), providerEnd: until ?? null };
  }

  /** Returns the columns for the provider through which the person signed in; empty for other sign-ins. */
  private externalColumns(
    id: string,
    { external }: NewSession,
  ): Pick<Session, 'providerId' | 'externalSession' | 'logoutHint'> {
    if (external === undefined) return { providerId: null, externalSession: null, logoutHint: null };
    const { providerId, session: externalSession, logoutHint: hint } = external;
    const logoutHint = hint === null ? null : this.seal.close(SEAL, id, Buffer.from(hint));
    return { providerId, externalSession, logoutHint };
  }

  /** Records a step-up. */
  async renewed(by: Actor & { origin: Origin }, { id, methods, at, detail }: Renewal): Promise<void> {
    await this.db.transaction(async (tx) => {
      const since = at ?? this.clock.now();
      const change = { authenticatedAt: since, steppedUpAt: since, methods: [...methods] };
      const changed = await changeSealed(tx, Session, { id, endedAt: IsNull() }, change);
      if (changed !== 1) throw missing('session');
      const target = { kind: 'session', id };
      await this.audit.appendBy(tx, by, { action: 'auth.stepped-up', target, detail: { methods, ...detail } });
    });
    this.callers.forget(id);
  }

  /** Returns the valid sessions of a person, newest first, without their logout hints, which can be long. */
  async listOf(userId: string): Promise<Session[]> {
    const columns = this.db.getMetadata(Session).columns.map(({ propertyName }) => propertyName);
    return this.db
      .createQueryBuilder(Session, 'session')
      .select(columns.filter((name) => name !== 'logoutHint').map((name) => `session.${name}`))
      .where('session.userId = :userId', { userId })
      .andWhere('session.endedAt IS NULL')
      .andWhere('session.expiresAt > now()')
      .orderBy('session.id', 'DESC')
      .take(MAX_OPEN_SESSIONS)
      .getMany();
  }

  /** Ends one session of a person. Throws Problem `session.missing` for a session of another person. */
  async end(caller: Caller, userId: string, id: string, because: string): Promise<void> {
    const ended = await this.db.transaction(async (tx) => {
      await denyCodes(tx, 'user_id = $1 AND session_id = $2', [userId, id]);
      return this.endIn(tx, caller, because, 'user_id = $2 AND id = $3', [userId, id]);
    });
    if (ended.length === 0 && !(await this.db.manager.existsBy(Session, { id, userId }))) {
      throw missing('session');
    }
  }

  /** Ends the caller's own session. */
  async endOwn(caller: Caller): Promise<void> {
    if (caller.session === undefined) {
      throw new Problem('refused', 'session.none', 'API keys have no session. Revoke the key instead.');
    }
    const { id } = caller.session;
    await this.db.transaction((tx) => this.endIn(tx, caller, SIGNED_OUT, 'id = $2', [id]));
  }

  /** Ends all sessions of a user except `kept`. */
  async endAllOf(caller: Caller, userId: string, because: string, kept?: string): Promise<void> {
    await this.db.transaction((tx) => this.endAllIn(tx, caller, { userId, because, kept }));
  }

  /**
   * Like `endAllOf`, inside the caller's transaction. Also invalidates everything that could still be exchanged for a session or used to set a password:
   * approved device codes, sign-ins in progress at a provider, single sign-on tickets, and links to set a password.
   */
  async endAllIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    { userId, because, kept }: { userId: string; because: string; kept?: string | undefined },
  ): Promise<void> {
    // A transaction that redeems a code or ticket holds a shared lock on the account. If that transaction commits first, its session is ended here. If that
    // transaction starts later, the code or ticket is rejected.
    await tx.query('SELECT FROM user_account WHERE id = $1 FOR UPDATE', [userId]);
    await denyCodes(tx, 'user_id = $1', [userId]);
    await tx.query(`DELETE FROM sso_transaction WHERE user_id = $1 AND status = 'ARRIVED'`, [userId]);
    const identities: { provider_id: string; subject: string }[] = await tx.query(
      `SELECT provider_id, subject FROM external_identity WHERE user_id = $1`,
      [userId],
    );
    const ends = identities.map(({ provider_id: providerId, subject }) => ({ providerId, subject }));
    if (ends.length > 0) await recordSignInEnds(tx, ends, this.clock.now());
    await tx.query(`UPDATE password_reset SET used_at = now(), seal = NULL WHERE user_id = $1 AND used_at IS NULL`, [
      userId,
    ]);
    await this.endIn(tx, actor, because, `user_id = $2 AND id IS DISTINCT FROM $3::uuid`, [userId, kept ?? null]);
  }

  /**
   * Ends the sessions of a provider except `kept`, and invalidates its approved device codes and pending sign-ins, in the transaction that disables or removes
   * the provider or restricts who can sign in through it.
   */
  async endProviderIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    { providerId, because, kept }: { providerId: string; because: string; kept?: string | undefined },
  ): Promise<void> {
    await denyCodes(tx, 'provider_id = $1', [providerId]);
    await tx.query(`DELETE FROM sso_transaction WHERE provider_id = $1 AND status <> 'TESTED'`, [providerId]);
    await this.endIn(tx, actor, because, 'provider_id = $2 AND id IS DISTINCT FROM $3::uuid', [
      providerId,
      kept ?? null,
    ]);
  }

  /** Ends the sessions of all runs admitted by an issuer of workload tokens. */
  async endIssuerIn(tx: EntityManager, actor: Actor & { origin: Origin }, issuerId: string): Promise<void> {
    const trusts = 'trust_id IN (SELECT t.id FROM workload_trust t WHERE t.issuer_id = $2)';
    await this.endIn(tx, actor, 'issuer-disabled', trusts, [issuerId]);
  }

  /** Drops the person's sessions from this process's cache, so that the next call reads the person's roles and state again. */
  async forgetAllOf(userId: string): Promise<void> {
    const rows: { id: string }[] = await this.db.query(
      `SELECT id FROM auth_session WHERE user_id = $1 AND expires_at > now() ORDER BY id DESC LIMIT 1000`,
      [userId],
    );
    for (const { id } of rows) this.callers.forget(id);
  }

  /** Returns the provider through which the caller signed in, and the logout hint for the provider; undefined for other sign-ins. */
  async externalOf(caller: Caller): Promise<{ providerId: string; logoutHint: string | undefined } | undefined> {
    const session = await this.db.manager.findOneBy(Session, { id: caller.session?.id ?? '' });
    if (session === null || session.providerId === null) return undefined;
    const { id, providerId, logoutHint: hint } = session;
    return { providerId, logoutHint: hint === null ? undefined : this.seal.open(SEAL, id, hint).toString() };
  }

  /**
   * Ends sessions after a logout at their provider, cancels sign-ins in progress there, and denies the device codes approved in the sessions, inside the
   * caller's transaction. A session opens after the person authenticated at the provider, so the time of authentication is compared as well.
   *
   * @returns whether a session ended
   */
  async endExternalIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    { providerId, sessions, subject, before }: ExternalEnd,
  ): Promise<boolean> {
    const named = sessions === undefined ? [{ subject }] : sessions.map((session) => ({ subject, session }));
    const ends = named.map((one) => ({ providerId, ...one }));
    // The provider's clock may be ahead. Attempts that begin after this logout must not be refused.
    await recordSignInEnds(tx, ends, new Date(Math.min(before.getTime(), this.clock.now().getTime())));
    const where = (first: number) =>
      `provider_id = $${first} AND ($${first + 1}::text[] IS NULL OR external_session = ANY($${first + 1})) AND ($${first + 2}::text IS NULL OR user_id IN
         (SELECT e.user_id FROM external_identity e WHERE e.provider_id = $${first} AND e.subject = $${first + 2}))`;
    const values = [providerId, sessions ?? null, subject ?? null];
    await denyCodes(tx, `${where(1)} AND (authenticated_at IS NULL OR authenticated_at < $4)`, [...values, before]);
    // The epoch means that the provider did not report the time of authentication.
    const began = `CASE WHEN way = 'device' OR authenticated_at > to_timestamp(0) THEN least(created_at, authenticated_at) ELSE created_at END < $5`;
    const ended = await this.endIn(tx, actor, 'signed-out-at-provider', `${where(2)} AND ${began}`, [
      ...values,
      before,
    ]);
    return ended.length > 0;
  }

  /** Ends a session because its tokens were revoked or misused. */
  async endFamily(actor: Actor & { origin: Origin }, id: string, because: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      await denyCodes(tx, 'session_id = $1', [id]);
      await this.endIn(tx, actor, because, 'id = $2', [id]);
    });
  }

  /** Deletes sessions that ended or expired more than 30 days ago, with their refresh tokens. Expired sessions without a user are deleted after one day. */
  @Background({ name: 'expired-sessions', scope: 'cluster', every: 15 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(
      `WITH gone AS (DELETE FROM auth_session WHERE expires_at < now() - interval '30 days'
         OR ended_at < now() - interval '30 days' OR (user_id IS NULL AND expires_at < now() - interval '1 day') RETURNING id)
       DELETE FROM refresh_token USING gone WHERE session_id = gone.id`,
    );
  }

  private async endIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    because: string,
    where: string,
    values: unknown[],
  ): Promise<Ended[]> {
    const meant = `ended_at IS NULL AND expires_at > now() AND ${where}`;
    // The parameters of `where` start at `$2`, so the SELECT statements reference `$1`, the reason, without effect.
    const open = `SELECT id FROM auth_session WHERE $1::text IS NOT NULL AND ${meant}`;
    const found: { id: string }[] = await tx.query(open, [because, ...values]);
    const ended: Ended[] = [];
    for (let start = 0; start < found.length; start += ENDED_AT_ONCE) {
      const ids = found.slice(start, start + ENDED_AT_ONCE).map(({ id }) => id);
      const [part]: [Ended[], number] = await tx.query(
        `UPDATE auth_session SET ended_at = now(), ended_because = $1, seal = NULL WHERE ended_at IS NULL AND id = ANY($2) RETURNING id, user_id`,
        [because, ids],
      );
      await this.recordEnds(tx, actor, because, part);
      ended.push(...part);
    }
    // A trigger may have prevented the update of some rows.
    const left: unknown[] = await tx.query(`${open} LIMIT 1`, [because, ...values]);
    if (left.length > 0) throw notWritten('auth_session');
    for (const { id } of ended) this.callers.forget(id);
    return ended;
  }

  private recordEnds(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    because: string,
    ended: readonly Ended[],
  ): Promise<void> {
    const entries = ended.map(({ id, user_id }) => ({
      action: 'session.ended',
      actor: { kind: actor.kind, id: actor.id, name: actor.name },
      target: { kind: 'session', id },
      correlation: actor.origin.requestId,
      source: actor.origin.address,
      detail: { because, user: user_id ?? undefined },
    }));
    return this.audit.append(tx, entries);
  }
}

/** Denies device codes that are approved but not yet redeemed. */
async function denyCodes(tx: EntityManager, where: string, values: unknown[]): Promise<void> {
  await tx.query(
    `UPDATE device_authorization SET status = 'DENIED', seal = NULL WHERE status = 'APPROVED' AND ${where}`,
    values,
  );
}

function trustOf({ workload }: NewSession): Pick<Session, 'trustId' | 'trustRevision'> {
  return workload ?? { trustId: null, trustRevision: null };
}
