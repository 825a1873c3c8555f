import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import passport from 'passport';
import { type Origin, originOf } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { BrowserSessions } from '../browser/browser-sessions.js';
import { OwnPages } from '../browser/own-pages.js';
import { SessionCookie } from '../browser/session-cookie.js';
import type { Caller } from '../../access/caller.js';
import { guestOf } from '../../access/guest-callers.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { ACCESS_TOKEN, badToken, type Presented } from '../tokens/jwt.strategy.js';

/** A session or an API key by its id, which is no secret. */
export interface Bearer {
  readonly kind: 'session' | 'api-key';
  readonly id: string;
}

type Middleware = (request: Presented, response: object, next: (error: unknown) => void) => void;

/** Turns what a request brings along into a caller. New kinds of credential are added here and nowhere else. */
@Injectable()
export class Credentials {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly sessions: SessionCallers,
    private readonly browsers: BrowserSessions,
    private readonly cookie: SessionCookie,
    private readonly pages: OwnPages,
  ) {}

  /** A credential in a header counts before the cookie, which browsers send unasked. */
  async callerOfRequest(request: FastifyRequest): Promise<Caller> {
    const header = authorizationOf(request);
    const cookie = header === undefined ? this.cookie.of(request) : undefined;
    const guest = header === undefined && cookie === undefined ? guestOf(request) : undefined;
    if (guest !== undefined) return guest;
    if (cookie === undefined) return this.callerOf(header, originOf(request));
    this.pages.assertAsked(request);
    return this.browsers.callerOf(cookie, originOf(request));
  }

  /** RFC 6750 section 2.1. What the credential looks like decides who looks at it. */
  async callerOf(header: string | undefined, origin: Origin): Promise<Caller> {
    const [scheme, credential, ...rest] = (header ?? '').split(' ');
    if (credential === undefined || scheme?.toLowerCase() !== 'bearer' || rest.length > 0) {
      throw new Problem('unauthenticated', 'auth.missing', 'Send "Authorization: Bearer <API key or access token>".');
    }
    if (credential.startsWith('sw_')) return this.apiKeys.authenticate(credential, origin);
    return this.withToken({ headers: { authorization: `Bearer ${credential}` }, origin });
  }

  /** Whether a session or key is good now. Nobody is let in by this. */
  async goesOn({ kind, id }: Bearer): Promise<boolean> {
    return kind === 'session' ? this.sessions.goesOn(id) : this.apiKeys.goesOn(id);
  }

  /** The same caller as the database has it now. */
  async callerAgain(caller: Caller, request: FastifyRequest): Promise<Caller> {
    if (caller.session !== undefined) this.sessions.forget(caller.session.id);
    return this.callerOfRequest(request);
  }

  /** Passport's JwtStrategy, as a function: the access guard is the one that decides. */
  private withToken(presented: Presented): Promise<Caller> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null | undefined, caller: Caller | false | null | undefined, why: unknown) => {
        if (error !== null && error !== undefined) reject(error);
        else if (caller) resolve(caller);
        else reject(badToken(why));
      };
      (passport.authenticate(ACCESS_TOKEN, { session: false }, settle) as Middleware)(presented, {}, reject);
    });
  }
}

/** Sensors know X-API-Key; to everything behind this line it is the bearer credential that it stands for. */
function authorizationOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['x-api-key'];
  return headers.authorization ?? (typeof key === 'string' && key.startsWith('sw_') ? `Bearer ${key}` : undefined);
}
