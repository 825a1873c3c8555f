import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Actor, TokenBinding } from '../../../access/caller.js';
import type { Origin } from '../../../platform/http/origin.js';
import type { SessionGrounds } from '../sessions/session-grounds.js';
import { RefreshTokens } from '../sessions/refresh-tokens.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { type NewSession, SESSION_SECONDS, SessionsService } from '../sessions/sessions.service.js';
import { bindingOf, type SignInWay } from '../../model/session.entity.js';
import type { Scope } from '../../../access/scopes.js';
import type { User } from '../../model/user.entity.js';
import { AccessTokens } from './access-tokens.js';

export interface Tokens {
  readonly accessToken: string;
  /** Lifetime of the access token, in seconds. */
  readonly expiresIn: number;
  readonly refreshToken?: string;
  /** The keys to which the tokens are bound; undefined for bearer tokens. */
  readonly boundTo?: TokenBinding;
  /** Scopes of the tokens; if undefined, the tokens have all scopes of the person. */
  readonly scopes?: readonly Scope[];
}

export interface SignedInPerson {
  readonly user: User;
  readonly way: SignInWay;
  /** Authentication methods (RFC 8176). */
  readonly methods: readonly string[];
  /** The identity provider through which the person signed in. */
  readonly external?: NewSession['external'];
  /** Time at which the person authenticated; defaults to the current time. */
  readonly authenticatedAt?: Date;
  /** Time at which the identity provider ends the session; absent if the provider does not report the time. */
  readonly until?: Date;
  /** Additional facts for the audit entry of the sign-in. */
  readonly detail?: Record<string, unknown> | undefined;
  /** The OAuth client to which the tokens are issued. */
  readonly client?: Omit<GrantedClient, 'name'>;
  /** The verified password hash and second factors, which must be unchanged when the session opens. */
  readonly password?: SessionGrounds['password'];
}

/** An OAuth client to which a token is issued, with the scopes of the token and the key to which the token is bound. */
export interface GrantedClient {
  readonly id: string;
  readonly name: string;
  /** Time at which the client's secret, keys or certificates were last replaced; null if they were never replaced. */
  readonly proofSince: Date | null;
  readonly scopes: readonly Scope[];
  readonly boundTo: TokenBinding;
  /** Lifetime of the client's access tokens, in seconds. */
  readonly lifeSeconds: number;
}

/** Maximum lifetime of access tokens issued by /oauth/token, in seconds. */
export const OAUTH_TOKEN_SECONDS = 3600;

/** TokenGrants issues the result of every sign-in: a session, an access token and, for users, a refresh token. */
@Injectable()
export class TokenGrants {
  constructor(
    private readonly db: DataSource,
    private readonly callers: SessionCallers,
    private readonly sessions: SessionsService,
    private readonly refreshTokens: RefreshTokens,
    private readonly accessTokens: AccessTokens,
  ) {}

  /** Issues tokens to an authenticated person. */
  async forPerson(person: SignedInPerson, origin: Origin): Promise<Tokens> {
    return this.db.transaction((tx) => this.forPersonIn(tx, person, origin));
  }

  /** Like `forPerson`, inside the caller's transaction. */
  async forPersonIn(
    tx: EntityManager,
    { user, way, methods, client, password, external, authenticatedAt, until, detail }: SignedInPerson,
    origin: Origin,
  ): Promise<Tokens> {
    const actor: Actor = { kind: 'user', id: user.id, name: user.email };
    const grounds = { password, client };
    const order = { userId: user.id, way, methods, grounds, lifeSeconds: SESSION_SECONDS, until, detail };
    const limits = client === undefined ? {} : { clientId: client.id, scopes: client.scopes, boundTo: client.boundTo };
    const session = await this.sessions.open(
      tx,
      actor,
      {
        ...order,
        ...limits,
        ...(external === undefined ? {} : { external }),
        ...(authenticatedAt === undefined ? {} : { authenticatedAt }),
      },
      origin,
    );
    const expiresIn = client?.lifeSeconds ?? this.accessTokens.signInSeconds;
    const refreshToken = await this.refreshTokens.issue(tx, session);
    const accessToken = await this.accessTokens.issue(session, expiresIn);
    const granted = client === undefined ? {} : { scopes: client.scopes, boundTo: client.boundTo };
    return { accessToken, expiresIn, refreshToken, ...granted };
  }

  /**
   * Issues a token to an OAuth client acting on its own behalf. No refresh token is issued, because the client can authenticate again (RFC 6749 section 4.4.3).
   */
  async forClient(client: GrantedClient, origin: Origin): Promise<Tokens> {
    const { id, name, scopes, boundTo, lifeSeconds } = client;
    const order = {
      clientId: id,
      grounds: { client },
      boundTo,
      way: 'client-credentials' as const,
      scopes,
      methods: [],
      lifeSeconds,
    };
    const actor: Actor = { kind: 'oauth-client', id, name };
    const session = await this.db.transaction((tx) => this.sessions.open(tx, actor, order, origin));
    const accessToken = await this.accessTokens.issue(session, lifeSeconds);
    return { accessToken, expiresIn: lifeSeconds, scopes, boundTo };
  }

  /** Exchanges a refresh token for new tokens. Returns undefined if the refresh token is invalid, or if a person behind its session is disabled. */
  async refresh(
    refreshToken: string,
    {
      clientId,
      lifeSeconds = this.accessTokens.signInSeconds,
    }: { readonly clientId: string | null; readonly lifeSeconds?: number },
    origin: Origin,
  ): Promise<Tokens | undefined> {
    const refreshed = await this.refreshTokens.rotate(refreshToken, clientId, origin);
    if (refreshed === undefined) return undefined;
    const { session } = refreshed;
    const rights = await this.callers.rightsNow(session.id);
    if (rights === undefined) return undefined;
    const accessToken = await this.accessTokens.issue(session, lifeSeconds);
    const limits = session.scopes === null ? {} : { scopes: [...rights] };
    const boundTo = bindingOf(session);
    return { accessToken, expiresIn: lifeSeconds, refreshToken: refreshed.refreshToken, ...limits, boundTo };
  }
}
