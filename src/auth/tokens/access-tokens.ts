import { Injectable } from '@nestjs/common';
import { SignJWT, jwtVerify } from 'jose';
import { hkdfSync } from 'node:crypto';
import { Config } from '../../platform/config/config.js';
import { isId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/http/problem.js';
import { Clock } from '../../platform/time/clock.js';
import type { Caller } from '../caller.js';
import { ROLES, type Scope } from '../scopes.js';
import type { User } from '../users/user.entity.js';
import { UsersService } from '../users/users.service.js';

const ISSUER = 'sealwright';
const AUDIENCE = 'sealwright-api';
/** RFC 9068: a token of another kind is never taken for an access token. */
const TYPE = 'at+jwt';

/** Access tokens of people: JWT, HS256 with a key derived from SVC_JWT_SECRET for this purpose alone. */
@Injectable()
export class AccessTokens {
  private readonly key: Uint8Array;
  readonly lifeSeconds: number;

  constructor(
    config: Config,
    private readonly users: UsersService,
    private readonly clock: Clock,
  ) {
    this.key = new Uint8Array(hkdfSync('sha256', config.jwtSecret, '', 'sealwright access token', 32));
    this.lifeSeconds = config.jwtExpirationHours * 3600;
  }

  async issue(user: User): Promise<string> {
    const now = Math.floor(this.clock.now().getTime() / 1000);
    return new SignJWT({ ver: user.tokenVersion })
      .setProtectedHeader({ alg: 'HS256', typ: TYPE })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(user.id)
      .setIssuedAt(now)
      .setExpirationTime(now + this.lifeSeconds)
      .sign(this.key);
  }

  /** The caller behind a token, with the rights that the user has now. */
  async authenticate(token: string, origin: Origin): Promise<Caller> {
    const { sub, ver } = await this.claims(token);
    const known = await this.users.find(sub);
    // Who was let in again, or signed in again, a moment ago must not be refused for what is remembered.
    const user = isGood(known, ver) ? known : await this.users.findNow(sub);
    if (!isGood(user, ver)) throw refusal();
    const scopes = new Set<Scope>(user.roles.flatMap((role) => ROLES[role]));
    return { kind: 'user', id: user.id, name: user.email, ownerId: user.id, scopes, origin };
  }

  private async claims(token: string): Promise<{ sub: string; ver: unknown }> {
    try {
      const { payload } = await jwtVerify(token, this.key, {
        algorithms: ['HS256'],
        typ: TYPE,
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'exp', 'iat'],
        clockTolerance: 30,
        currentDate: this.clock.now(),
      });
      const { sub = '' } = payload;
      if (!isId(sub)) throw new Error('the subject is not an id');
      return { sub, ver: payload['ver'] };
    } catch (cause) {
      throw refusal(cause);
    }
  }
}

function isGood(user: User | null, version: unknown): user is User {
  return user !== null && !user.disabled && user.tokenVersion === version;
}

function refusal(cause?: unknown): Problem {
  return new Problem(
    'unauthenticated',
    'auth.bad-token',
    'This access token is not valid, or no longer; sign in again.',
    { cause },
  );
}
