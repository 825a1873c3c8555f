import { Injectable } from '@nestjs/common';
import type { Origin } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Caller } from '../../access/caller.js';
import { SecondFactorCheck, type ShownFactors } from '../second-factors/second-factor-check.js';
import { SessionsService } from '../sessions/sessions.service.js';
import { type SignedInPerson, TokenGrants, type Tokens } from '../tokens/token-grants.js';
import { PasswordCheck } from '../passwords/password-check.js';
import type { User } from '../model/user.entity.js';

/** Sign-in with password and second factor. Other ways (single sign-on, devices) end in the same tokens. */
@Injectable()
export class SignInService {
  constructor(
    private readonly passwords: PasswordCheck,
    private readonly secondFactor: SecondFactorCheck,
    private readonly sessions: SessionsService,
    private readonly grants: TokenGrants,
  ) {}

  /** Authenticates by e-mail address, password, and a second factor if the person has one. */
  async personWith(email: string, password: string, factors: ShownFactors, origin: Origin): Promise<SignedInPerson> {
    const user = await this.passwords.userWith(email, password, origin);
    return { user, way: 'password', methods: await this.secondFactor.methodsWith(user.id, factors) };
  }

  /** The same, and issues tokens. */
  async withPassword(email: string, password: string, factors: ShownFactors, origin: Origin): Promise<Tokens> {
    return this.grants.forPerson(await this.personWith(email, password, factors, origin), origin);
  }

  /** Step-up: a signed-in person authenticates again. */
  async stepUp(caller: Caller, password: string, factors: ShownFactors): Promise<void> {
    const user = await this.passwords.userWith(caller.name, password, caller.origin);
    const methods = await this.secondFactor.methodsWith(user.id, factors);
    await this.sessions.renewed(caller, { id: caller.session?.id ?? '', methods });
  }

  /** Issues tokens to a person who has just registered. */
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
      'This refresh token is not valid, or no longer; sign in again.',
    );
  }
}
