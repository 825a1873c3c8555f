import { Injectable } from '@nestjs/common';
import { KeyVault } from '../../hsm/key-vault.js';
import { SigningAttempts } from './signing-attempts.js';
import type { Claimed } from './claimed.js';
import { SigningClaims } from './signing-claims.js';

/** The work of a background worker: claims what waits and makes an attempt at each. */
@Injectable()
export class SigningExecutor {
  constructor(
    private readonly claims: SigningClaims,
    private readonly attempts: SigningAttempts,
    private readonly vault: KeyVault,
  ) {}

  /** Handles a signal. A second one is harmless: who comes second finds nothing to claim. */
  async process(requestIds: readonly string[]): Promise<void> {
    // With the HSM down, what waits keeps waiting and no attempt is spent; the sweep comes back for it.
    if (!this.vault.health().up) return;
    await this.signAll(await this.claims.claim(requestIds));
  }

  /** Works through what no signal was sent for, until nothing is left or `stopping` says so. Answers how much it was. */
  async sweep(everything: boolean, stopping: () => boolean): Promise<number> {
    let done = 0;
    const most = 100;
    while (this.vault.health().up && !stopping()) {
      const claimed = await this.claims.claimOverdue(most, everything);
      await this.signAll(claimed);
      done += claimed.length;
      if (claimed.length < most) break;
    }
    return done;
  }

  private async signAll(claimed: readonly Claimed[]): Promise<void> {
    // An attempt that cannot be recorded is left to its lease; the others must not suffer.
    const ended = await Promise.allSettled(claimed.map((request) => this.attempts.attempt(request, 'async')));
    const lost = ended.find((result) => result.status === 'rejected');
    if (lost !== undefined) throw lost.reason;
  }
}
