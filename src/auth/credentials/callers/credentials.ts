import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import passport from 'passport';
import { type Origin, originOf } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { ApiKeysService } from '../api-keys/api-keys.service.js';
import { BrowserSessions } from './browser-sessions.js';
import { CsrfProtection, SessionCookie } from './cookies.js';
import { type Caller, guestOf } from '../../../access/caller.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { ACCESS_TOKEN, badToken, type Presented } from './jwt.strategy.js';
import { UploadAuthorizer } from '../../../platform/http/bodies/raw-body.js';
import type { CalledRequest } from '../../../access/access.js';
import { assertScope, type Scope } from '../../../access/scopes.js';
import { fromBase64 } from '../../../formats/encoding/base64.js';

/** A session or an API key, identified by its ID, which is not a secret. */
export interface Bearer {
  readonly kind: 'session' | 'api-key';
  readonly id: string;
}

const SCHEMES = ['bearer', 'dpop'] as const;
/** A scheme, one or more spaces, and the credential (RFC 9110 section 11.4). */
const CREDENTIALS = /^(\S+) +(\S*)$/;

type Middleware = (request: Presented, response: object, next: (error: unknown) => void) => void;

/** Credentials resolves a request's credential to a caller. New kinds of credentials are added only here. */
@Injectable()
export class Credentials {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly sessions: SessionCallers,
    private readonly browsers: BrowserSessions,
    private readonly cookie: SessionCookie,
    private readonly csrf: CsrfProtection,
  ) {}

  /** Returns the caller of a request. A credential in a header takes precedence over the cookie, which browsers send automatically. */
  async callerOfRequest(request: FastifyRequest): Promise<Caller> {
    const header = authorizationOf(request);
    const cookie = header === undefined ? this.cookie.of(request) : undefined;
    const guest = header === undefined && cookie === undefined ? guestOf(request) : undefined;
    if (guest !== undefined) return guest;
    if (cookie === undefined) return this.callerOf(header, request);
    this.csrf.assertSameOrigin(request);
    return this.browsers.callerOf(cookie, originOf(request));
  }

  /**
   * holderOf returns the current caller of an access token without checking who presents the token. Never authenticate a request with the result, which only
   * describes the token. The cache is bypassed, because another process may have just ended the session, and clients admit people based on the result.
   */
  async holderOf(token: string, origin: Origin): Promise<Caller> {
    return this.withToken({ headers: { authorization: `Bearer ${token}` }, origin, use: null });
  }

  /**
   * Returns the caller of a credential with the Bearer scheme (RFC 6750 section 2.1) or the DPoP scheme (RFC 9449 section 7.1). The prefix `sw_` distinguishes
   * API keys from access tokens.
   */
  private async callerOf(header: string | undefined, request: FastifyRequest): Promise<Caller> {
    const [, given, credential] = CREDENTIALS.exec(header ?? '') ?? [];
    const scheme = SCHEMES.find((one) => one === given?.toLowerCase());
    if (credential === undefined || scheme === undefined) {
      throw new Problem(
        'unauthenticated',
        'auth.missing',
        'Authentication required. Send "Authorization: Bearer <API key or access token>".',
      );
    }
    const origin = originOf(request);
    if (credential.startsWith('sw_') && scheme === 'bearer') return this.apiKeys.authenticate(credential, origin);
    const headers = { authorization: `Bearer ${credential}` };
    return this.withToken({ headers, origin, use: { scheme, token: credential, request } });
  }

  /** Reports whether a session or key is valid now. The result does not authenticate anyone. */
  async isValid({ kind, id }: Bearer): Promise<boolean> {
    return kind === 'session' ? this.sessions.isValid(id) : this.apiKeys.isValid(id);
  }

  /** Returns the caller as currently stored in the database, bypassing the cache. */
  async callerAgain(caller: Caller, request: FastifyRequest): Promise<Caller> {
    if (caller.session !== undefined) this.sessions.expire(caller.session.id);
    else this.apiKeys.expire(authorizationOf(request)?.split(' ').at(-1) ?? '');
    return this.callerOfRequest(request);
  }

  /** Wraps Passport's JwtStrategy as a function, so that the access guard decides how to proceed. */
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

/** Returns the Authorization header. Sensors send X-API-Key instead, which is returned as a bearer credential. */
function authorizationOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['x-api-key'];
  return headers.authorization ?? (typeof key === 'string' && key.startsWith('sw_') ? `Bearer ${key}` : undefined);
}

/** CredentialUploadAuthorizer authenticates a request and checks its scope before the body is read. AccessGuard repeats the checks afterwards. */
@Injectable()
export class CredentialUploadAuthorizer extends UploadAuthorizer {
  constructor(private readonly credentials: Credentials) {
    super();
  }

  async authorize(request: CalledRequest, scope: string): Promise<string> {
    request.caller = await this.credentials.callerOfRequest(request);
    assertScope(request.caller.scopes, scope as Scope);
    return request.caller.id;
  }
}

const BASIC = /^Basic +([A-Za-z0-9+/]+=*)$/i;

/**
 * Converts an HTTP Basic header (RFC 7617) to a bearer credential, for clients that support no other scheme. The password is an API key or an access token; the
 * user name is ignored. A header with another scheme is returned unchanged. A password that cannot be a credential becomes an empty credential.
 */
export function bearerOfBasic(header: string | undefined): string | undefined {
  const [, credentials] = BASIC.exec(header ?? '') ?? [];
  if (credentials === undefined) return header;
  const text = fromBase64(credentials, 'optional')?.toString() ?? '';
  const [, password = ''] = /^[^:]*:([\x21-\x7e]+)$/.exec(text) ?? [];
  return `Bearer ${password}`;
}
