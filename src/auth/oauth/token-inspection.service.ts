import { Injectable } from '@nestjs/common';
import { decodeJwt } from 'jose';
import { DataSource } from 'typeorm';
import type { Origin } from '../../platform/http/origin.js';
import { Credentials } from '../credentials/callers/credentials.js';
import { RefreshTokens } from '../credentials/sessions/refresh-tokens.js';
import { Session } from '../model/session.entity.js';
import { SessionsService } from '../credentials/sessions/sessions.service.js';
import type { ActiveClient } from './oauth-clients.service.js';
import { OAuthError } from './oauth-error.js';

/** Introspection response (RFC 7662 section 2.2). */
export type Introspection = { active: false } | ({ active: true } & Record<string, unknown>);

/** TokenInspectionService implements revocation (RFC 7009) and introspection (RFC 7662) of tokens. */
@Injectable()
export class TokenInspectionService {
  constructor(
    private readonly db: DataSource,
    private readonly credentials: Credentials,
    private readonly refreshTokens: RefreshTokens,
    private readonly sessions: SessionsService,
  ) {}

  /**
   * Ends the session of a token, which revokes all tokens of that session. A token that is unknown or was issued to another client is ignored (RFC 7009 section
   * 2.2).
   */
  async revoke(client: ActiveClient | undefined, token: string, origin: Origin): Promise<void> {
    const session = await this.sessionOf(token, origin);
    if (session === undefined) return;
    if (session.clientId !== null && client === undefined) {
      throw new OAuthError('invalid_client', 'The client to which the token was issued must authenticate.');
    }
    if (session.clientId !== (client?.id ?? null)) return;
    const actor =
      client === undefined
        ? ({ kind: 'anonymous', id: '', name: '', origin } as const)
        : ({ kind: 'oauth-client', id: client.id, name: client.name, origin } as const);
    await this.sessions.endFamily(actor, session.id, 'revoked');
  }

  /** Returns the current rights and claims of a token. Strings that are not an active access token of this service are reported as inactive. */
  async introspect(token: string, origin: Origin): Promise<Introspection> {
    const caller = await this.callerOf(token, origin);
    if (caller?.session === undefined) return { active: false };
    const { sub, exp, iat, jti, iss, aud, client_id, cnf } = decodeJwt(token);
    const scope = [...caller.scopes].join(' ');
    const type = caller.session.boundTo.dpopKey === undefined ? 'Bearer' : 'DPoP';
    const common = { active: true as const, token_type: type, scope, username: caller.name };
    const more = { ...(client_id === undefined ? {} : { client_id }), ...(cnf === undefined ? {} : { cnf }) };
    return { ...common, sub, exp, iat, jti, iss, aud, ...more };
  }

  private callerOf(token: string, origin: Origin) {
    return this.credentials.holderOf(token, origin).catch(() => undefined);
  }

  private async sessionOf(token: string, origin: Origin): Promise<Session | undefined> {
    const known = await this.refreshTokens.peek(token);
    if (known !== undefined) return known;
    const caller = await this.callerOf(token, origin);
    if (caller?.session === undefined) return undefined;
    return (await this.db.manager.findOneBy(Session, { id: caller.session.id })) ?? undefined;
  }
}
