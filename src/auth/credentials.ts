import { Injectable } from '@nestjs/common';
import passport from 'passport';
import type { Origin } from '../platform/http/origin.js';
import { Problem } from '../platform/http/problem.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import type { Caller } from './caller.js';
import { SessionCallers } from './sessions/session-callers.js';
import { ACCESS_TOKEN, badToken, type Presented } from './tokens/jwt.strategy.js';

type Middleware = (request: Presented, response: object, next: (error: unknown) => void) => void;

/** Turns an Authorization header into a caller. New kinds of credential are added here and nowhere else. */
@Injectable()
export class Credentials {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly sessions: SessionCallers,
  ) {}

  /** RFC 6750 section 2.1. What the credential looks like decides who looks at it. */
  async callerOf(header: string | undefined, origin: Origin): Promise<Caller> {
    const [scheme, credential, ...rest] = (header ?? '').split(' ');
    if (credential === undefined || scheme?.toLowerCase() !== 'bearer' || rest.length > 0) {
      throw new Problem('unauthenticated', 'auth.missing', 'Send "Authorization: Bearer <API key or access token>".');
    }
    if (credential.startsWith('sw_')) return this.apiKeys.authenticate(credential, origin);
    return this.withToken({ headers: { authorization: `Bearer ${credential}` }, origin });
  }

  /** The same caller as the database has it now. */
  async callerAgain(caller: Caller, header: string | undefined): Promise<Caller> {
    if (caller.session !== undefined) this.sessions.forget(caller.session.id);
    return this.callerOf(header, caller.origin);
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
