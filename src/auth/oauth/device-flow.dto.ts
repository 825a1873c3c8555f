import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import { SCOPE_NAMES, type Scope } from '../../access/scopes.js';

export class UserCodeParam {
  /** What the device shows. @example WDJB-MJHT */
  @IsString()
  @Length(1, 20)
  userCode: string;
}

/** The page reads it by itself: `verification_uri_complete` of RFC 8628 section 3.3.1. */
export class DevicePageQuery {
  @IsOptional()
  @IsString()
  @Length(1, 20)
  user_code?: string;
}

export class WaitingDeviceView {
  /** @example sealwrightctl */
  client: string;
  /** What it will be able to do: what it asks for, as far as you may do it yourself. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true })
  scopes: Scope[];
  expiresAt: Date;
}
