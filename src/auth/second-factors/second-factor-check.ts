import { Injectable } from '@nestjs/common';
import { Problem } from '../../platform/http/problem.js';
import { Throttle } from '../throttle/throttle.js';
import { RecoveryCodes } from './recovery-codes.js';
import { SecondFactorsService } from './second-factors.service.js';

export interface ShownFactors {
  /** Six digits of an authenticator app. */
  readonly totp?: string | undefined;
  readonly recoveryCode?: string | undefined;
}

/** Asks for a second factor where a person has one. */
@Injectable()
export class SecondFactorCheck {
  constructor(
    private readonly factors: SecondFactorsService,
    private readonly recovery: RecoveryCodes,
    private readonly throttle: Throttle,
  ) {}

  /** To be called after the first factor was right. @returns how the person was recognised, in RFC 8176 words */
  async methodsWith(userId: string, { totp, recoveryCode }: ShownFactors): Promise<string[]> {
    if ((await this.factors.listOf(userId)).length === 0) return ['pwd'];
    if (totp === undefined && recoveryCode === undefined) {
      const detail = 'Send "totp", a code of your authenticator app, as well; or "recoveryCode".';
      throw new Problem('unauthenticated', 'auth.second-factor-needed', detail);
    }
    // Counted by itself: a right password does not take guesses of codes away.
    const attempt = { rule: 'second factor of person', subject: userId } as const;
    await this.throttle.assertMayTry([attempt]);
    const isRight =
      totp === undefined
        ? await this.recovery.use(userId, recoveryCode ?? '')
        : await this.factors.isCodeOf(userId, totp);
    if (!isRight) throw new Problem('unauthenticated', 'auth.wrong-code', 'This code is wrong, or was used already.');
    await this.throttle.succeeded([attempt]);
    return ['pwd', totp === undefined ? 'kba' : 'otp', 'mfa'];
  }
}
