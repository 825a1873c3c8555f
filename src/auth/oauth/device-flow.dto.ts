import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';
import { SCOPE_NAMES, type Scope } from '../scopes.js';

export class UserCodeParam {
  /** What the device shows. @example WDJB-MJHT */
  @IsString()
  @Length(1, 20)
  userCode: string;
}

export class WaitingDeviceView {
  /** @example sealwrightctl */
  client: string;
  /** What it will be able to do: what it asks for, as far as you may do it yourself. */
  @ApiProperty({ enum: SCOPE_NAMES, isArray: true })
  scopes: Scope[];
  expiresAt: Date;
}
