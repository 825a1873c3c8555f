import { Injectable } from '@nestjs/common';
import { type Origin, networkOf } from '../../platform/http/origin.js';
import { Problem } from '../../platform/errors/problem.js';
import { type ThrottledAttempt, Throttle } from './throttle.js';
import { Passwords } from './passwords.js';
import type { User } from './user.entity.js';
import { canonical, UsersService } from './users.service.js';

/** FairShare prevents one caller from filling a shared queue. Each process counts separately. */
class FairShare {
  private readonly running = new Map<string, number>();

  /** `max` is the maximum number of concurrent checks per caller. */
  constructor(private readonly max: number) {}

  async run<T>(who: string, work: () => Promise<T>): Promise<T> {
    const taken = this.running.get(who) ?? 0;
    if (taken >= this.max) {
      throw new Problem(
        'overloaded',
        'auth.too-many-attempts',
        'Too many concurrent sign-in attempts. Retry after 1 second.',
        {
          retryAfter: 1,
        },
      );
    }
    this.running.set(who, taken + 1);
    try {
      return await work();
    } finally {
      const left = (this.running.get(who) ?? 1) - 1;
      if (left > 0) this.running.set(who, left);
      else this.running.delete(who);
    }
  }
}

/** Maximum number of concurrent checks per network: a tenth of the queue in passwords.ts, so that a flood from one network does not block other users. */
const MAX_PER_ADDRESS = 20;

/**
 * PasswordCheck verifies an email address and password. Guesses are throttled, and the response and the response time are the same for known and unknown users.
 */
@Injectable()
export class PasswordCheck {
  private readonly share = new FairShare(MAX_PER_ADDRESS);

  constructor(
    private readonly users: UsersService,
    private readonly passwords: Passwords,
    private readonly throttle: Throttle,
  ) {}

  /** Returns the user with this email address and password, or throws a Problem that does not reveal which of the two is wrong. */
  userWith(email: string, password: string, origin: Origin): Promise<User> {
    return this.share.run(networkOf(origin.address), () => this.check(email, password, origin));
  }

  private async check(email: string, password: string, origin: Origin): Promise<User> {
    const [address, ...person] = attemptsOf(email, origin);
    await this.throttle.assertMayTry([address, ...person]);
    const user = await this.users.findByEmail(email);
    const verdict = await this.passwords.verify(user?.passwordHash ?? undefined, password);
    if (user === null || verdict === 'mismatch' || user.disabled) {
      throw new Problem('unauthenticated', 'auth.wrong-credentials', 'The email address or password is incorrect.');
    }
    // The count of the IP address is kept, because one correct password must not reset the count of guesses at other accounts.
    await this.throttle.succeeded(person);
    if (verdict === 'outdated') await this.users.replaceHash(user, password);
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
