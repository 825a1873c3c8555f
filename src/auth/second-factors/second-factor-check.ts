import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { Problem } from '../../platform/errors/problem.js';
import { Throttle } from '../throttle/throttle.js';
import { RecoveryCodes } from './recovery-codes.js';
import { PasskeysService } from './passkeys.service.js';
import { SecondFactorsService } from './second-factors.service.js';

export interface ShownFactors {
  /** Six digits of an authenticator app. */
  readonly totp?: string | undefined;
  readonly recoveryCode?: string | undefined;
  /** Answer of a passkey to a challenge of ours. */
  readonly passkey?: AuthenticationResponseJSON | undefined;
}

/** Requires a second factor of people who have one. */
@Injectable()
export class SecondFactorCheck {
  constructor(
    private readonly factors: SecondFactorsService,
    private readonly passkeys: PasskeysService,
    private readonly recovery: RecoveryCodes,
    private readonly throttle: Throttle,
  ) {}

  /** To be called after the first factor was verified. @returns the authentication methods (RFC 8176) */
  async methodsWith(userId: string, shown: ShownFactors): Promise<string[]> {
    if ((await this.factors.listOf(userId)).length === 0) return ['pwd'];
    const method = methodOf(shown);
    if (method === undefined) {
      const detail = 'Send "totp", a code of your authenticator app, as well; or "passkey", or "recoveryCode".';
      throw new Problem('unauthenticated', 'auth.second-factor-needed', detail);
    }
    // Has its own count: a right password does not reset guesses of codes.
    const attempt = { rule: 'second factor of person', subject: userId } as const;
    await this.throttle.assertMayTry([attempt]);
    if (!(await this.isRight(userId, shown)))
      throw new Problem('unauthenticated', 'auth.wrong-code', 'This code is wrong, or was used already.');
    await this.throttle.succeeded([attempt]);
    return ['pwd', method, 'mfa'];
  }

  private isRight(userId: string, { totp, passkey, recoveryCode = '' }: ShownFactors): Promise<boolean> {
    if (passkey !== undefined) return this.passkeys.isAnswerOf(userId, passkey);
    return totp === undefined ? this.recovery.use(userId, recoveryCode) : this.factors.isCodeOf(userId, totp);
  }
}

/** RFC 8176; undefined without a factor. */
function methodOf({ totp, passkey, recoveryCode }: ShownFactors): string | undefined {
  if (passkey !== undefined) return 'hwk';
  if (totp !== undefined) return 'otp';
  return recoveryCode === undefined ? undefined : 'kba';
}
