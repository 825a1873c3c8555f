import { Injectable } from '@nestjs/common';
import { type Origin, networkOf } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import { FairShare } from '../throttle/fair-share.js';
import { type ThrottledAttempt, Throttle } from '../throttle/throttle.js';
import { Passwords } from '../model/passwords.js';
import type { User } from '../model/user.entity.js';
import { canonical, UsersService } from '../model/users.service.js';

/** A tenth of the line that passwords.ts has: a flood from one address leaves room for people elsewhere. */
const AT_ONCE_PER_ADDRESS = 20;

/** Who has this password? Slow for guessers, and the same answer after the same time for people there are and there are not. */
@Injectable()
export class PasswordCheck {
  private readonly share = new FairShare(AT_ONCE_PER_ADDRESS);

  constructor(
    private readonly users: UsersService,
    private readonly passwords: Passwords,
    private readonly throttle: Throttle,
  ) {}

  /** The user with this address and password, or a Problem that does not tell which of the two is wrong. */
  userWith(email: string, password: string, origin: Origin): Promise<User> {
    return this.share.of(networkOf(origin.address), () => this.check(email, password, origin));
  }

  private async check(email: string, password: string, origin: Origin): Promise<User> {
    const [address, ...person] = attemptsOf(email, origin);
    await this.throttle.assertMayTry([address, ...person]);
    const user = await this.users.findByEmail(email);
    const matches = await this.passwords.matches(user?.passwordHash ?? undefined, password);
    if (user === null || !matches || user.disabled) {
      throw new Problem('unauthenticated', 'auth.wrong-credentials', 'The e-mail address or the password is wrong.');
    }
    // One right password does not make up for guesses at other accounts: the count of the address stays.
    await this.throttle.succeeded(person);
    return user;
  }
}

function attemptsOf(email: string, origin: Origin): [ThrottledAttempt, ThrottledAttempt, ThrottledAttempt] {
  const address = networkOf(origin.address);
  const person = canonical(email);
  return [
    { rule: 'sign-in address', subject: address },
    { rule: 'sign-in person at address', subject: `${person}\n${address}` },
    { rule: 'sign-in person', subject: person },
  ];
}
