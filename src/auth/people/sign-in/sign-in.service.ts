import { Injectable } from '@nestjs/common';
import type { Origin } from '../../../platform/http/origin.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { Caller } from '../../../access/caller.js';
import { SecondFactorCheck, type ShownFactors } from '../second-factors/second-factor-check.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { type SignedInPerson, TokenGrants, type Tokens } from '../../credentials/callers/token-grants.js';
import { PasswordCheck } from '../../model/password-check.js';
import { failedSignIn } from '../../model/failed-sign-in.js';
import type { User } from '../../model/user.entity.js';

interface PasswordAttempt {
  readonly account: string;
  readonly password: string;
  readonly factors: ShownFactors;
  readonly origin: Origin;
  readonly isStepUp?: boolean;
}

/** SignInService signs users in with a password and a second factor. Single sign-on and the device flow issue the same kinds of tokens. */
@Injectable()
export class SignInService {
  constructor(
    private readonly passwords: PasswordCheck,
    private readonly secondFactor: SecondFactorCheck,
    private readonly sessions: SessionsService,
    private readonly grants: TokenGrants,
  ) {}

  /** Authenticates a person with email address, password and, if the person has one, a second factor. */
  async personWith(email: string, password: string, factors: ShownFactors, origin: Origin): Promise<SignedInPerson> {
    const { user, methods } = await this.authenticated({ account: email, password, factors, origin });
    return { user, way: 'password', methods, password: user };
  }

  /** Like `personWith`, and issues tokens. */
  async withPassword(email: string, password: string, factors: ShownFactors, origin: Origin): Promise<Tokens> {
    return this.grants.forPerson(await this.personWith(email, password, factors, origin), origin);
  }

  /** Performs a step-up: a signed-in person authenticates again. */
  async stepUp(caller: Caller, password: string, factors: ShownFactors): Promise<void> {
    const attempt = { account: caller.name, password, factors, origin: caller.origin, isStepUp: true };
    const { user, methods } = await this.authenticated(attempt);
    // The sign-in found the account by its email address, which may belong to another user by now.
    if (user.id !== caller.id)
      throw new Problem('unauthenticated', 'auth.wrong-credentials', 'The email address or password is incorrect.');
    await this.sessions.renewed(caller, { id: caller.session?.id ?? '', methods });
  }

  /** Verifies the password and, if the person has one, a second factor. A failure is recorded with the account name that was used. */
  private async authenticated({ account, password, factors, origin, isStepUp }: PasswordAttempt) {
    try {
      const user = await this.passwords.userWith(account, password, origin);
      return { user, methods: await this.secondFactor.methodsWith(user, factors) };
    } catch (error) {
      throw error instanceof Problem ? failedSignIn(error, { way: 'password', account, isStepUp }) : error;
    }
  }

  /** Issues tokens to a newly registered user. */
  async registered(user: User, origin: Origin): Promise<Tokens> {
    return this.grants.forPerson({ user, way: 'registration', methods: ['pwd'] }, origin);
  }

  /** Exchanges a refresh token for new tokens. */
  async refresh(refreshToken: string, origin: Origin): Promise<Tokens> {
    const tokens = await this.grants.refresh(refreshToken, { clientId: null }, origin);
    if (tokens !== undefined) return tokens;
    throw new Problem(
      'unauthenticated',
      'auth.bad-refresh-token',
      'This refresh token is invalid or has expired. Sign in again.',
    );
  }
}
