import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { Matches } from 'class-validator';
import { Name } from '../../../platform/http/fields/fields.js';
import type { SecondFactor } from './second-factor.entity.js';
import { TOTP_CODE } from './totp.js';

/** Removes spaces from a code, because apps display the code in two groups. */
export const InGroups = () =>
  Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.replaceAll(/\s/g, '') : value));

export class BeginTotpBody {
  /** Name of the app. @example phone */
  @Name(1, 60) name: string;
}

export class ConfirmTotpBody {
  /** Six-digit code from the app. */
  @ApiProperty({ example: '123456', pattern: TOTP_CODE.source }) @InGroups() @Matches(TOTP_CODE) code: string;
}

export class NewTotpView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Base32 secret for manual entry. It cannot be retrieved again. @example JBSWY3DPEHPK3PXP */
  secret: string;
  /** URI for a QR code. @example otpauth://totp/Sealwright:ada%40example.com?secret=… */
  uri: string;
}

export class RecoveryCodesView {
  /**
   * Recovery codes, each of which can be used once. The codes cannot be retrieved again; store them separately from the app. Empty if you already have codes.
   */
  @ApiProperty({ example: ['7YKQ-2MDA-X0CE-91RT'] }) recoveryCodes: string[];
}

export class SecondFactorView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  @ApiProperty({ enum: ['totp', 'passkey'] }) kind: 'totp' | 'passkey';
  /** @example phone */
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export class SecondFactorList {
  items: SecondFactorView[];

  static of(factors: SecondFactor[]): SecondFactorList {
    return {
      items: factors.map(({ id, kind, name, createdAt, lastUsedAt }) => ({ id, kind, name, createdAt, lastUsedAt })),
    };
  }
}
