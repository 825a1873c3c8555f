import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Caller } from '../../access/caller.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { accessTokenKey, AUDIENCE, ISSUER, TYPE } from './access-tokens.js';

export const ACCESS_TOKEN = 'access-token';

/** The part of a request that the strategy reads. */
export interface Presented {
  readonly headers: { readonly authorization: string };
  readonly origin: Origin;
}

interface VerifiedToken {
  readonly header: { readonly typ?: unknown };
  readonly payload: { readonly sub?: unknown; readonly sid?: unknown; readonly exp?: unknown; readonly iat?: unknown };
}

/**
 * Verifies access tokens: one algorithm, our issuer and audience, 30 s of clock skew; then the session that the token names
 * decides. `complete` passes the header as well, because the library does not check `typ`.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, ACCESS_TOKEN) {
  constructor(
    config: Config,
    private readonly sessions: SessionCallers,
  ) {
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKey: accessTokenKey(config),
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      passReqToCallback: true,
      jsonWebTokenOptions: { clockTolerance: 30, complete: true },
    });
  }

  /** Called by Passport with a token whose signature, times, issuer and audience are verified. */
  async validate(presented: Presented, { header, payload }: VerifiedToken): Promise<Caller> {
    const { sub, sid, exp, iat } = payload;
    const isWhole = typeof exp === 'number' && typeof iat === 'number' && typeof sid === 'string' && isId(sid);
    if (header.typ !== TYPE || !isWhole) throw badToken();
    const caller = await this.sessions.find(sid, presented.origin);
    if (caller === undefined || caller.id !== sub) throw badToken();
    return caller;
  }
}

export function badToken(cause?: unknown): Problem {
  return new Problem(
    'unauthenticated',
    'auth.bad-token',
    'This access token is not valid, or no longer; sign in again.',
    { cause },
  );
}
