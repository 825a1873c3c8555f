import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { newId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import { Seal } from '../../platform/sealing/seal.js';
import { Clock } from '../../platform/time/clock.js';
import type { Caller } from '../../access/caller.js';
import type { Scope } from '../../access/scopes.js';
import { SessionCallers } from './session-callers.js';
import { Session, type SignInWay } from '../model/session.entity.js';

export interface NewSession {
  readonly userId?: string;
  readonly clientId?: string;
  readonly way: SignInWay;
  /** Absent: everything that the person may do. */
  readonly scopes?: readonly Scope[];
  readonly methods: readonly string[];
  /** The identity provider that the person came by, and its name for the session. */
  readonly external?: {
    readonly providerId: string;
    readonly session: string | null;
    readonly logoutHint: string | null;
  };
  /** When the person showed who they are, where it was not just now. */
  readonly authenticatedAt?: Date;
  /** For browsers: SHA-256 of the secret in their cookie. */
  readonly cookieHash?: Buffer;
  /** However often it is refreshed. */
  readonly lifeSeconds: number;
}

/** A person's sign-in ends after this time, however active it is. */
export const SESSION_SECONDS = 30 * 24 * 3600;

const SEAL = 'id token';

/** A person showed once more who they are. */
export interface Renewal {
  /** Of the session. */
  readonly id: string;
  /** RFC 8176 words. */
  readonly methods: readonly string[];
  /** Now, where it does not say. */
  readonly at?: Date;
}

interface Ended {
  readonly id: string;
  readonly user_id: string | null;
}

/** What a provider says is over: one of its sessions, all of one of its people, or both. */
export interface ExternalEnd {
  readonly providerId: string;
  readonly session?: string | undefined;
  readonly subject?: string | undefined;
  /** Later sessions are not meant, so saying it again does no harm. */
  readonly before: Date;
}

/** Sign-ins: one row each, listed for their owner, ended at will. An ended one is refused everywhere within five seconds. */
@Injectable()
export class SessionsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly callers: SessionCallers,
    private readonly clock: Clock,
    private readonly seal: Seal,
  ) {}

  /** Adds a session and its audit entry in the caller's transaction. */
  async open(tx: EntityManager, actor: Actor, order: NewSession, origin: Origin): Promise<Session> {
    const id = newId();
    const logoutHint = order.external?.logoutHint ?? null;
    const session = tx.create(Session, {
      id,
      userId: order.userId ?? null,
      clientId: order.clientId ?? null,
      way: order.way,
      providerId: order.external?.providerId ?? null,
      externalSession: order.external?.session ?? null,
      logoutHint: logoutHint === null ? null : this.seal.close(SEAL, id, Buffer.from(logoutHint)),
      scopes: order.scopes === undefined ? null : [...order.scopes],
      cookieHash: order.cookieHash ?? null,
      methods: [...order.methods],
      authenticatedAt: order.authenticatedAt ?? this.clock.now(),
      expiresAt: new Date(this.clock.now().getTime() + order.lifeSeconds * 1000),
      address: origin.address,
      agent: origin.agent ?? '',
    });
    await tx.insert(Session, session);
    const action = order.way === 'client-credentials' ? 'auth.token-issued' : 'auth.signed-in';
    const detail = { way: order.way, session: session.id, scopes: order.scopes };
    const target = { kind: actor.kind, id: actor.id };
    await this.audit.append(tx, [
      { action, actor, target, correlation: origin.requestId, source: origin.address, detail },
    ]);
    return session;
  }

  /** Notes that the person has shown again who they are. */
  async renewed(by: Actor & { origin: Origin }, { id, methods, at }: Renewal): Promise<void> {
    await this.db.transaction(async (tx) => {
      const since = at ?? this.clock.now();
      const { affected } = await tx.update(
        Session,
        { id, endedAt: IsNull() },
        { authenticatedAt: since, steppedUpAt: since, methods: [...methods] },
      );
      if (affected !== 1) throw new Problem('missing', 'session.missing', 'There is no such session.');
      const target = { kind: 'session', id };
      await this.audit.appendBy(tx, by, { action: 'auth.stepped-up', target, detail: { methods } });
    });
    this.callers.forget(id);
  }

  /** The sign-ins of a person that still count, newest first. */
  async listOf(userId: string): Promise<Session[]> {
    return this.db
      .createQueryBuilder(Session, 'session')
      .where('session.userId = :userId', { userId })
      .andWhere('session.endedAt IS NULL')
      .andWhere('session.expiresAt > now()')
      .orderBy('session.id', 'DESC')
      .take(200)
      .getMany();
  }

  /** Ends one session of a person. What is not theirs is not there. */
  async end(caller: Caller, userId: string, id: string, because: string): Promise<void> {
    const ended = await this.endWhere(caller, because, 'user_id = $2 AND id = $3', [userId, id]);
    if (ended.length === 0 && !(await this.db.manager.existsBy(Session, { id, userId }))) {
      throw new Problem('missing', 'session.missing', 'There is no such session.');
    }
  }

  /** Ends the session of the caller's own token, whoever the caller is. */
  async endOwn(caller: Caller): Promise<void> {
    if (caller.session === undefined) {
      throw new Problem('refused', 'session.none', 'An API key has no session; revoke the key instead.');
    }
    await this.endWhere(caller, 'signed-out', 'id = $2', [caller.session.id]);
  }

  /** Ends all sessions of a person, but for the one that is `kept`. */
  async endAllOf(caller: Caller, userId: string, because: string, kept?: string): Promise<void> {
    await this.db.transaction((tx) => this.endAllIn(tx, caller, { userId, because, kept }));
  }

  /** The same in the caller's transaction. */
  async endAllIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    { userId, because, kept }: { userId: string; because: string; kept?: string | undefined },
  ): Promise<void> {
    await this.endIn(tx, actor, because, `user_id = $2 AND id IS DISTINCT FROM $3::uuid`, [userId, kept ?? null]);
    // What they have allowed a device and it has not fetched yet would be a session that nobody has ended.
    await tx.query(`UPDATE device_authorization SET status = 'DENIED' WHERE user_id = $1 AND status = 'APPROVED'`, [
      userId,
    ]);
  }

  /** The provider that the caller came by, and what it wants to see for signing out there; undefined for everyone else. */
  async externalOf(caller: Caller): Promise<{ providerId: string; logoutHint: string | undefined } | undefined> {
    const session = await this.db.manager.findOneBy(Session, { id: caller.session?.id ?? '' });
    if (session === null || session.providerId === null) return undefined;
    const { id, providerId, logoutHint: hint } = session;
    return { providerId, logoutHint: hint === null ? undefined : this.seal.open(SEAL, id, hint).toString() };
  }

  /** Ends what a provider has ended: sessions that had begun by then. @returns how many */
  async endExternal(
    actor: Actor & { origin: Origin },
    { providerId, session, subject, before }: ExternalEnd,
  ): Promise<number> {
    const ended = await this.endWhere(
      actor,
      'signed-out-at-provider',
      `provider_id = $2 AND ($3::text IS NULL OR external_session = $3) AND created_at < $5 AND ($4::text IS NULL OR user_id IN
         (SELECT e.user_id FROM external_identity e WHERE e.provider_id = $2 AND e.subject = $4))`,
      [providerId, session ?? null, subject ?? null, before],
    );
    return ended.length;
  }

  /** Ends a session because of what was done with its tokens; `actor` is who they were issued to. */
  async endFamily(actor: Actor & { origin: Origin }, id: string, because: string): Promise<void> {
    await this.endWhere(actor, because, 'id = $2', [id]);
  }

  /** Removes sessions that ended or expired a month ago, with their refresh tokens. */
  async expire(): Promise<void> {
    await this.db.query(
      `WITH gone AS (DELETE FROM auth_session WHERE expires_at < now() - interval '30 days'
         OR ended_at < now() - interval '30 days' OR (client_id IS NOT NULL AND user_id IS NULL AND expires_at < now() - interval '1 day') RETURNING id)
       DELETE FROM refresh_token USING gone WHERE session_id = gone.id`,
    );
  }

  private endWhere(
    actor: Actor & { origin: Origin },
    because: string,
    where: string,
    values: unknown[],
  ): Promise<Ended[]> {
    return this.db.transaction((tx) => this.endIn(tx, actor, because, where, values));
  }

  private async endIn(
    tx: EntityManager,
    actor: Actor & { origin: Origin },
    because: string,
    where: string,
    values: unknown[],
  ): Promise<Ended[]> {
    const [ended]: [Ended[], number] = await tx.query(
      `UPDATE auth_session SET ended_at = now(), ended_because = $1 WHERE ended_at IS NULL AND ${where} RETURNING id, user_id`,
      [because, ...values],
    );
    await this.audit.append(
      tx,
      ended.map(({ id, user_id }) => ({
        action: 'session.ended',
        actor: { kind: actor.kind, id: actor.id, name: actor.name },
        target: { kind: 'session', id },
        correlation: actor.origin.requestId,
        source: actor.origin.address,
        detail: { because, user: user_id ?? undefined },
      })),
    );
    for (const { id } of ended) this.callers.forget(id);
    return ended;
  }
}
