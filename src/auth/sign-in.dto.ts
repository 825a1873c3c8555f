import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';
import type { Caller } from './caller.js';
import { SCOPE_NAMES, type Scope } from './scopes.js';

export class LoginBody {
  /** @example ada@example.com */
  @IsString()
  @Length(3, 254)
  email: string;

  /** @example correct-horse-battery-staple */
  @IsString()
  @Length(1, 128)
  password: string;
}

/** RFC 6749 section 5.1. */
export class TokenView {
  /** @example eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMTk0NWYyZSJ9.c2lnbmF0dXJl */
  access_token: string;
  token_type: 'Bearer';
  /** Seconds. @example 86400 */
  expires_in: number;
}

export class CallerView {
  kind: 'user' | 'api-key';
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example ada@example.com */
  name: string;
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true })
  scopes: Scope[];

  static of({ kind, id, name, scopes }: Caller): CallerView {
    return { kind, id, name, scopes: [...scopes] };
  }
}
