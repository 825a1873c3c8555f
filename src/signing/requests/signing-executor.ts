import { Injectable } from '@nestjs/common';
import { KeyVault } from '../../hsm/key-vault.js';
import { resumed } from '../../platform/observability/tracing.js';
import { Signer } from './signer.js';
import type { Claimed } from './signing-attempt.js';
import { SigningClaims } from './signing-claims.js';
import { SigningOutcomeRepository } from './signing-outcome.repository.js';

/** SigningExecutor signs in the background: it claims waiting requests and makes one attempt to sign each request. */
@Injectable()
export class SigningExecutor {
  constructor(
    private readonly claims: SigningClaims,
    private readonly signer: Signer,
    private readonly outcomes: SigningOutcomeRepository,
    private readonly vault: KeyVault,
  ) {}

  /** Signs the requests of a job signal. A duplicate signal is harmless, because there is nothing left to claim. */
  async process(requestIds: readonly string[]): Promise<void> {
    // While the HSM is down, requests keep waiting and no attempt is counted. The sweep finds the requests later.
    if (!this.vault.health().up) return;
    await this.signAll(await this.claims.claim(requestIds));
  }

  /** Signs requests for which no signal arrived, until no request is left or `stopping` returns true. Returns the number of signed requests. */
  async sweep(everything: boolean, stopping: () => boolean): Promise<number> {
    let done = 0;
    const max = 100;
    while (this.vault.health().up && !stopping()) {
      const claimed = await this.claims.claimOverdue(max, everything);
      await this.signAll(claimed);
      done += claimed.length;
      if (claimed.length < max) break;
    }
    return done;
  }

  private async signAll(claimed: readonly Claimed[]): Promise<void> {
    // A request whose outcome cannot be written stays claimed until its lease expires; the other requests continue.
    const ended = await Promise.allSettled(claimed.map((request) => this.attempt(request)));
    const lost = ended.find((result) => result.status === 'rejected');
    if (lost !== undefined) throw lost.reason;
  }

  /** Makes one attempt, in the trace of the call that requested the signature. */
  private attempt(request: Claimed): Promise<unknown> {
    const facts = { 'sealwright.format': request.format, 'sealwright.attempt': request.attempt };
    return resumed(request.traceParent, 'signing.attempt', facts, async () =>
      this.outcomes.settle(request, await this.signer.sign(request), 'async'),
    );
  }
}
