import { Injectable } from '@nestjs/common';
import { EventBus } from '../../platform/events/events.js';
import { Problem } from '../../platform/errors/problem.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { SigningKeyReader } from '../keys/signing-key.reader.js';
import { SignatureMaker } from './signature-maker.js';
import { backoffMs, MAX_SIGNING_STRIKES } from '../model/signing-limits.js';
import type { Claimed } from './claimed.js';
import { SigningRequestRepository } from './signing-request.repository.js';
import type { SigningOutcome } from './signing-outcome.js';

export type Way = 'sync' | 'async';

export interface Ended {
  readonly outcome: SigningOutcome;
  /** When the outcome was committed. */
  readonly at: Date;
}

/** One attempt at a request whose intent is committed: asks the HSM, then records what came of it. */
@Injectable()
export class SigningAttempts {
  constructor(
    private readonly repository: SigningRequestRepository,
    private readonly maker: SignatureMaker,
    private readonly keys: SigningKeyReader,
    private readonly events: EventBus,
    private readonly metrics: Metrics,
  ) {}

  /** The outcome, or undefined when it came too late to count. */
  async attempt(request: Claimed, way: Way): Promise<Ended | undefined> {
    const outcome = await this.ask(request);
    const at = await this.repository.settle(request, outcome);
    if (at === undefined) return undefined;
    if (outcome.kind !== 'RELEASED') {
      this.metrics.settled.inc({ outcome: outcome.kind, way });
      this.events.emit('signing.settled', { requestId: request.id });
    }
    return { outcome, at };
  }

  private async ask(request: Claimed): Promise<SigningOutcome> {
    const started = performance.now();
    let type = 'none';
    let outcome: SigningOutcome;
    try {
      const key = await this.keys.toSignWith({ ...request, timestamp: request.envelope?.timestamped ?? false });
      type = key.type;
      outcome = { kind: 'SIGNED', ...(await this.maker.make(request, key)) };
    } catch (error) {
      outcome = outcomeOf(error, request.strikes);
    }
    this.metrics.hsmSign.observe({ type, outcome: outcome.kind }, (performance.now() - started) / 1000);
    return outcome;
  }
}

/** What cannot succeed ends now; what may succeed is tried again, up to the cap. Anything unforeseen counts as the latter. */
function outcomeOf(error: unknown, strikes: number): SigningOutcome {
  const problem =
    error instanceof Problem
      ? error
      : new Problem('unavailable', 'signing.internal', 'The attempt failed on our side.', { cause: error });
  const { code, message: detail } = problem;
  const passing = problem.kind === 'unavailable' || problem.kind === 'overloaded';
  if (!passing || strikes + 1 >= MAX_SIGNING_STRIKES) return { kind: 'FAILED', code, detail };
  return { kind: 'RELEASED', code, retryInMs: backoffMs(strikes + 1) };
}
