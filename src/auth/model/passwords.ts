import { Injectable } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { randomBytes } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';

/** OWASP's stronger profile: 64 MiB, 3 iterations, parallelism 1. The binding's default algorithm is argon2id. */
const COST = { memoryCost: 64 * 1024, timeCost: 3, parallelism: 1 } as const;
/** Maximum number of parallel hashes per process, which limits memory and CPU usage. */
const MAX_PARALLEL_HASHES = 2;
/** Maximum number of calls that wait for a hash. Further calls are rejected, because they would wait too long. */
const MAX_WAITING = 200;

/** Passwords hashes and verifies passwords with argon2id (RFC 9106), and limits memory and CPU usage. */
@Injectable()
export class Passwords {
  private free = MAX_PARALLEL_HASHES;
  private readonly queue: (() => void)[] = [];
  /** Hash that is verified for unknown users, so that the response takes as long as for known users. */
  private readonly decoy = hashOfNothing();

  /** Returns the hash of the NFC form, because keyboards and browsers encode the same text differently (RFC 8265 section 4.2.2, NIST SP 800-63B). */
  hash(password: string): Promise<string> {
    return this.serialized(() => hash(password.normalize('NFC'), COST));
  }

  /**
   * Verifies a password. Earlier versions hashed passwords as typed: `outdated` means that a form other than NFC matches, and the hash should be replaced. The
   * time depends only on the typed password, not on the stored hash or on which form matches.
   */
  async verify(stored: string | undefined, password: string): Promise<'match' | 'outdated' | 'mismatch'> {
    const matching: boolean[] = [];
    for (const form of formsOf(password))
      matching.push(await this.serialized(() => verify(stored ?? this.decoy, form)));
    if (stored === undefined || !matching.includes(true)) return 'mismatch';
    return matching[0] === true ? 'match' : 'outdated';
  }

  private async serialized<T>(work: () => Promise<T>): Promise<T> {
    if (this.queue.length >= MAX_WAITING) {
      throw new Problem(
        'unavailable',
        'auth.busy',
        'Too many users are signing in at the same time. Retry after 3 seconds.',
        {
          retryAfter: 3,
        },
      );
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

/** Returns the forms in which a password may have been hashed, NFC first; a single form for text without accents. */
function formsOf(password: string): string[] {
  return [...new Set([password.normalize('NFC'), password, password.normalize('NFD')])];
}

/** Returns a PHC string that no password matches and that costs as much to verify as a real hash. Computing a real hash would take 100 ms at each start. */
function hashOfNothing(): string {
  const { memoryCost, timeCost, parallelism } = COST;
  const random = (bytes: number) => randomBytes(bytes).toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${random(16)}$${random(32)}`;
}
