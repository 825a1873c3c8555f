import { Injectable } from '@nestjs/common';
import { SignJWT } from 'jose';
import { type KeyObject, randomUUID } from 'node:crypto';
import type { TokenBinding } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import { type DerivedKeys, derivedKeys } from '../../../platform/sealing/derived-keys.js';
import { Clock } from '../../../platform/work/clock.js';
import { bindingOf, type Session } from '../../model/session.entity.js';

export const ISSUER = 'sealwright';
export const AUDIENCE = 'sealwright-api';
/** TYPE is the `typ` header of access tokens (RFC 9068). Tokens with any other type are never accepted as access tokens. */
export const TYPE = 'at+jwt';

/** Returns the HS256 keys that are derived only for access tokens. The first key signs tokens, and all keys verify tokens. */
export function accessTokenKeys(config: Config): DerivedKeys {
  return derivedKeys(config, 'sealwright access token');
}

/** AccessTokens issues access tokens: JWTs (RFC 9068) that contain the session ID. JwtStrategy verifies the tokens. */
@Injectable()
export class AccessTokens {
  private readonly key: KeyObject;
  /** Lifetime of the access tokens of users. */
  readonly signInSeconds: number;

  constructor(
    config: Config,
    private readonly clock: Clock,
  ) {
    [this.key] = accessTokenKeys(config);
    this.signInSeconds = config.jwtExpirationHours * 3600;
  }

  async issue(session: Session, lifeSeconds: number): Promise<string> {
    const now = Math.floor(this.clock.now().getTime() / 1000);
    const claims = {
      sid: session.id,
      ...(session.clientId === null ? {} : { client_id: session.clientId }),
      ...confirmationOf(bindingOf(session)),
      ...(session.scopes === null ? {} : { scope: session.scopes.join(' ') }),
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: TYPE })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(session.userId ?? session.clientId ?? session.id)
      .setJti(randomUUID())
      .setIssuedAt(now)
      .setExpirationTime(now + lifeSeconds)
      .sign(this.key);
  }
}

/** Returns the confirmation claim, which identifies the key to which a token is bound (RFC 7800 section 3.1, RFC 8705 section 3.1, RFC 9449 section 6.1). */
function confirmationOf({ dpopKey, certificate }: TokenBinding): { cnf?: Record<string, string> } {
  if (dpopKey === undefined && certificate === undefined) return {};
  return {
    cnf: {
      ...(dpopKey === undefined ? {} : { jkt: dpopKey }),
      ...(certificate === undefined ? {} : { 'x5t#S256': certificate }),
    },
  };
}
