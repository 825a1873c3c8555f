import { Nested, Optional, Text } from '../../../platform/http/fields/fields.js';
import { IsPlainAddress } from '../../model/plain-address.js';
import { MAX_TYPED_PASSWORD_LENGTH } from '../../model/password-rules.js';
import { ApiProperty } from '@nestjs/swagger';
import { IsEmail, IsOptional, Matches, MaxLength } from 'class-validator';
import type { Caller } from '../../../access/caller.js';
import { SCOPE_NAMES, type Scope } from '../../../access/scopes.js';
import { PasskeyAnswerBody } from '../second-factors/passkeys.dto.js';
import { InGroups } from '../second-factors/second-factors.dto.js';
import type { Newcomer } from '../users/registration.service.js';
import type { Tokens } from '../../credentials/callers/token-grants.js';
import { TOTP_CODE } from '../second-factors/totp.js';

class FactorsBody {
  /** Six-digit code from your authenticator app, if you have registered an app. */
  @ApiProperty({ example: '123456', required: false, pattern: TOTP_CODE.source })
  @IsOptional()
  @InGroups()
  @Matches(TOTP_CODE)
  totp?: string;
  /** One of your recovery codes, instead of `totp`. @example 7YKQ-2MDA-X0CE-91RT */
  @Optional(Text(1, 40)) recoveryCode?: string;
  /** A passkey's response to the challenge from `passkey-challenge`, instead of `totp`. */
  @Optional(Nested(PasskeyAnswerBody)) passkey?: PasskeyAnswerBody;
}

export class LoginBody extends FactorsBody {
  /** @example ada@example.com */
  @Text(3, 254) email: string;
  /** @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
}

export class StepUpBody extends FactorsBody {
  /** @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
}

export class ForgotPasswordBody {
  /** @example ada@example.com */
  @Text(3, 254) email: string;
}

export class ResetPasswordBody {
  /** Token from the link in the email, after `#reset=`. @example sw_mail_0a1b */
  @Text(1, 200) token: string;
  /** At least 12 characters. @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
}

export class RegisterBody {
  /** @example ada@example.com */
  @IsEmail() @IsPlainAddress() @MaxLength(254) email: string;
  /** At least 12 characters. @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
  /** Token from the invitation link, after `#invitation=`. @example sw_mail_0a1b */
  @Optional(Text(1, 200)) invitation?: string;

  toNewcomer(): Newcomer {
    const { email, password, invitation } = this;
    return { email, password, ...(invitation === undefined ? {} : { invitation }) };
  }
}

export class RefreshBody {
  /** @example sw_refresh_0a1b */
  @Text(1, 200) refresh_token: string;
}

export class ChangePasswordBody {
  /** @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) currentPassword: string;
  /** At least 12 characters. @example correct-horse-battery-staple */
  @Text(1, MAX_TYPED_PASSWORD_LENGTH) password: string;
}

/** Token response (RFC 6749 section 5.1). */
export class TokenView {
  /** @example eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMTk0NWYyZSJ9.c2lnbmF0dXJl */
  access_token: string;
  /** `DPoP` for tokens that are bound to a DPoP key (RFC 9449 section 5). */
  @ApiProperty({ enum: ['Bearer', 'DPoP'] }) token_type: 'Bearer' | 'DPoP';
  /** Present only for a token exchange (RFC 8693 section 2.2.1). @example urn:ietf:params:oauth:token-type:access_token */
  issued_token_type?: string;
  /** Lifetime of the access token in seconds. @example 86400 */
  expires_in: number;
  /** The refresh token, which can be exchanged for new tokens once within 14 days. @example sw_refresh_0a1b */
  refresh_token?: string;
  /** Space-separated list of scopes; absent if the token has all your permissions. @example 'sign:digest sign:read' */
  scope?: string;

  static of({
    accessToken,
    expiresIn,
    refreshToken,
    scopes,
    boundTo,
    issuedType,
  }: Tokens & { issuedType?: string }): TokenView {
    return {
      access_token: accessToken,
      token_type: boundTo?.dpopKey === undefined ? 'Bearer' : 'DPoP',
      expires_in: expiresIn,
      ...(issuedType === undefined ? {} : { issued_token_type: issuedType }),
      ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
      ...(scopes === undefined ? {} : { scope: scopes.join(' ') }),
    };
  }
}

export class CallerView {
  kind: 'user' | 'api-key' | 'oauth-client' | 'workload' | 'anonymous';
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example ada@example.com */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true }) scopes: Scope[];
  /** Names of the signing keys that you can use, in which `*` matches any characters; null allows every signing key. */
  @ApiProperty({ type: [String], nullable: true, example: ['release-*'] }) keys: string[] | null;
  /** ID of the session to which the token belongs; absent for API keys. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  session?: string;

  static of({ kind, id, name, scopes, keys, session }: Caller): CallerView {
    const limits = { scopes: [...scopes], keys: keys === undefined ? null : [...keys] };
    return { kind, id, name, ...limits, ...(session === undefined ? {} : { session: session.id }) };
  }
}
