import { IsString, Length, Matches } from 'class-validator';
import type { SecondFactor } from './second-factor.entity.js';

export class BeginTotpBody {
  /** What you call the app. @example phone */
  @IsString()
  @Length(1, 60)
  name: string;
}

export class ConfirmTotpBody {
  /** Six digits of the app. @example 123456 */
  @Matches(/^\d{6}$/)
  code: string;
}

export class NewTotpView {
  id: string;
  /** Base32, for typing. Shown this once. */
  secret: string;
  /** For a QR code. @example otpauth://totp/Sealwright:ada%40example.com?secret=… */
  uri: string;
}

export class RecoveryCodesView {
  /** Each is good once. Shown this once; keep them apart from the app. Empty when you have codes already. */
  recoveryCodes: string[];
}

export class SecondFactorView {
  id: string;
  /** @example phone */
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export class SecondFactorList {
  items: SecondFactorView[];

  static of(factors: SecondFactor[]): SecondFactorList {
    return { items: factors.map(({ id, name, createdAt, lastUsedAt }) => ({ id, name, createdAt, lastUsedAt })) };
  }
}
