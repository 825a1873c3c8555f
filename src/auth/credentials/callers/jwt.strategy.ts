import { Injectable } from '@nestjs/common';
import type { KeyObject } from 'node:crypto';
import { PassportStrategy } from '@nestjs/passport';
import { ExtractJwt, Strategy } from 'passport-jwt';
import { Config } from '../../../platform/config/config.js';
import { isId } from '../../../platform/database/new-id.js';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import { type DerivedKeys, isMadeByOneOf } from '../../../platform/sealing/derived-keys.js';
import { fromBase64Url } from '../../../formats/encoding/base64.js';
import type { Caller } from '../../../access/caller.js';
import { KeyPossession, type PresentedToken } from '../possession/key-possession.js';
import { SessionCallers } from '../sessions/session-callers.js';
import { accessTokenKeys, AUDIENCE, ISSUER, TYPE } from './access-tokens.js';

export const ACCESS_TOKEN = 'access-token';
/** Length of an HMAC-SHA-256 tag, in bytes. */
const HS256_BYTES = 32;

/** The parts of a call that JwtStrategy reads. */
export interface Presented {
  /** Contains the token with the Bearer scheme, the only scheme that the library supports. */
  readonly headers: { readonly authorization: string };
  readonly origin: Origin;
  /** How the caller presented the token. Null for a query about the token, which does not authenticate a caller and bypasses the session cache. */
  readonly use: PresentedToken | null;
}

interface VerifiedToken {
  readonly header: { readonly typ?: unknown };
  readonly payload: { readonly sub?: unknown; readonly sid?: unknown; readonly exp?: unknown; readonly iat?: unknown };
}

/**
 * JwtStrategy verifies an access token's algorithm, issuer, audience and times, with up to 30 s of clock skew. Then JwtStrategy verifies the token's session,
 * and that the caller possesses the key to which the token is bound. The option `complete` passes the header to `validate`, because the library does not check
 * `typ`.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, ACCESS_TOKEN) {
  constructor(
    config: Config,
    private readonly sessions: SessionCallers,
    private readonly possession: KeyPossession,
  ) {
    const keys = accessTokenKeys(config);
    super({
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: (_request, token: string, done) => done(null, keyOf(token, keys).export()),
      algorithms: ['HS256'],
      issuer: ISSUER,
      audience: AUDIENCE,
      passReqToCallback: true,
      jsonWebTokenOptions: { clockTolerance: 30, complete: true },
    });
  }

  /** Called by Passport with a token whose signature, times, issuer and audience have been verified. */
  async validate(presented: Presented, { header, payload }: VerifiedToken): Promise<Caller> {
    const { sub, sid, exp, iat } = payload;
    const isWhole = typeof exp === 'number' && typeof iat === 'number' && typeof sid === 'string' && isId(sid);
    if (header.typ !== TYPE || !isWhole) throw badToken();
    if (presented.use === null) this.sessions.expire(sid);
    const caller = await this.sessions.find(sid, presented.origin);
    if (caller === undefined || caller.id !== sub) throw badToken();
    if (presented.use !== null) await this.possession.assertHolder(presented.use, caller.session?.boundTo ?? {});
    return caller;
  }
}

/** Returns the key that signed a token. If none of the keys signed the token, returns the current key, with which the library's verification fails. */
function keyOf(token: string, keys: DerivedKeys): KeyObject {
  const end = token.lastIndexOf('.');
  const signature = fromBase64Url(token.slice(end + 1));
  if (signature?.length !== HS256_BYTES) return keys[0];
  return keys.find((key) => isMadeByOneOf([key], token.slice(0, end), signature)) ?? keys[0];
}

export function badToken(cause?: unknown): Problem {
  return new Problem(
    'unauthenticated',
    'auth.bad-token',
    'This access token is invalid or has expired. Sign in again.',
    { cause },
  );
}
