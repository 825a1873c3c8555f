import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { Problem } from '../../platform/errors/problem.js';

/** OWASP's stronger profile: 64 MiB, 3 passes, one lane. The binding's default algorithm is argon2id. */
const COST = { memoryCost: 64 * 1024, timeCost: 3, parallelism: 1 } as const;
/** Hashes under way at once in a process: memory and cores stay bounded however many people sign in. */
const AT_ONCE = 2;
/** More than that many waiting callers would wait too long anyway. */
const MAX_WAITING = 200;

/** argon2id (RFC 9106) with a bound on how much of the machine it takes. */
@Injectable()
export class Passwords {
  private free = AT_ONCE;
  private readonly queue: (() => void)[] = [];
  /** Compared against for unknown users, so that they take as long as known ones. */
  private readonly decoy = this.hash('no user has this password');

  hash(password: string): Promise<string> {
    return this.serialized(() => hash(password, COST));
  }

  /** False also without a stored hash, after the same time. */
  async matches(stored: string | undefined, password: string): Promise<boolean> {
    const against = stored ?? (await this.decoy);
    const same = await this.serialized(() => verify(against, password));
    return same && stored !== undefined;
  }

  private async serialized<T>(work: () => Promise<T>): Promise<T> {
    if (this.queue.length >= MAX_WAITING) {
      throw new Problem('unavailable', 'auth.busy', 'Too many people sign in at once; try again.', { retryAfter: 3 });
    }
    if (this.free === 0) await new Promise<void>((resolve) => this.queue.push(resolve));
    else this.free -= 1;
    try {
      return await work();
    } finally {
      const next = this.queue.shift();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
