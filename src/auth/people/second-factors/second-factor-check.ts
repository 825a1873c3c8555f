import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { Problem } from '../../../platform/errors/problem.js';
import type { User } from '../../model/user.entity.js';
import { Throttle } from '../../model/throttle.js';
import { AccountFactors } from './account-factors.js';
import type { SecondFactor } from './second-factor.entity.js';
import { RecoveryCodes } from './recovery-codes.js';
import { PasskeysService } from './passkeys.service.js';
import { SecondFactorsService } from './second-factors.service.js';

export interface ShownFactors {
  /** Six-digit code from an authenticator app. */
  readonly totp?: string | undefined;
  readonly recoveryCode?: string | undefined;
  /** A passkey's response to a challenge from this service. */
  readonly passkey?: AuthenticationResponseJSON | undefined;
}

/** SecondFactorCheck requires a second factor from people who have registered a factor. */
@Injectable()
export class SecondFactorCheck {
  constructor(
    private readonly factors: SecondFactorsService,
    private readonly passkeys: PasskeysService,
    private readonly recovery: RecoveryCodes,
    private readonly throttle: Throttle,
    private readonly accounts: AccountFactors,
  ) {}

  /**
   * Verifies the second factor of a person whose password was verified. Succeeds without a second factor if the person has no second factor.
   *
   * @param account the row whose password was verified
   * @returns the authentication methods (RFC 8176)
   */
  async methodsWith(account: User, shown: ShownFactors): Promise<string[]> {
    const { id: userId } = account;
    const factors = await this.accounts.of(account);
    if (factors.length === 0) return ['pwd'];
    const method = methodOf(shown);
    if (method === undefined) {
      const detail =
        'A second factor is required. Send "totp" with a code from your authenticator app, "passkey", or "recoveryCode" as well.';
      throw new Problem('unauthenticated', 'auth.second-factor-needed', detail);
    }
    // Guesses at codes are counted separately, so that a correct password does not reset the count of wrong codes.
    const attempt = { rule: 'second factor of person', subject: userId } as const;
    await this.throttle.assertMayTry([attempt]);
    if (!(await this.isRight(userId, factors, shown)))
      throw new Problem('unauthenticated', 'auth.wrong-code', 'This code is incorrect or has already been used.');
    await this.throttle.succeeded([attempt]);
    return ['pwd', method, 'mfa'];
  }

  private isRight(
    userId: string,
    factors: readonly SecondFactor[],
    { totp, passkey, recoveryCode = '' }: ShownFactors,
  ): Promise<boolean> {
    if (passkey !== undefined) return this.passkeys.isAnswerOf(userId, factors, passkey);
    return totp === undefined ? this.recovery.use(userId, recoveryCode) : this.factors.isCodeOf(factors, totp);
  }
}

/** Returns the authentication method (RFC 8176) of the presented factor; undefined without a factor. */
function methodOf({ totp, passkey, recoveryCode }: ShownFactors): string | undefined {
  if (passkey !== undefined) return 'hwk';
  if (totp !== undefined) return 'otp';
  return recoveryCode === undefined ? undefined : 'kba';
}
