import { Injectable, Logger } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { RotationClaims } from './rotation-claims.js';
import { RotationConductor } from './rotation-conductor.js';
import { RotationDesk } from './rotation-desk.js';
import { FencedOff, RotationLedger } from './rotation-ledger.js';
import { nextStep } from './rotation-state.js';
import { secondsUntilAllowed } from './rotation-window.js';
import type { Work } from './rotation-work.js';

const RENEWALS_PER_LEASE = 3;

/** The work of a background worker: claims targets and takes each step by step as far as it goes. */
@Injectable()
export class RotationRunner {
  private readonly logger = new Logger(RotationRunner.name);
  private readonly running = new Set<Promise<void>>();
  private filling: Promise<void> | undefined;
  private stopping = false;

  constructor(
    private readonly claims: RotationClaims,
    private readonly ledger: RotationLedger,
    private readonly desk: RotationDesk,
    private readonly conductor: RotationConductor,
    private readonly config: Config,
  ) {}

  /** Takes on what is due, as much as this process may have in hand. */
  fill(): Promise<void> {
    this.filling ??= this.take().finally(() => {
      this.filling = undefined;
    });
    return this.filling;
  }

  /** Takes nothing on any more, and finishes the step that each target is at. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
  }

  private async take(): Promise<void> {
    while (!this.stopping && this.running.size < this.config.sshRotationConcurrency) {
      const work = await this.claims.claim();
      if (work === undefined) return;
      const run = this.run(work)
        .catch((error: unknown) => this.complain(work, error))
        .finally(() => {
          this.running.delete(run);
          if (!this.stopping) void this.fill().catch(() => undefined);
        });
      this.running.add(run);
    }
  }

  private async run(work: Work): Promise<void> {
    const renewal = setInterval(
      () => void this.claims.renew(work).catch(() => undefined),
      (this.config.sshRotationLeaseSeconds * 1000) / RENEWALS_PER_LEASE,
    );
    try {
      await this.advance(work);
    } finally {
      clearInterval(renewal);
    }
    await this.conductor.look(work.rotation.id);
  }

  private async advance(claimed: Work): Promise<void> {
    for (let work = claimed; ; work = await this.claims.read(work.target.id)) {
      if (work.target.fence !== claimed.target.fence) return;
      const step = nextStep(work.target.state, work.rotation.status === 'ROLLING_BACK');
      const isOnlyLooking = work.rotation.status === 'SURVEYING' && step !== 'precheck';
      if (step === undefined || isOnlyLooking || this.stopping) return this.claims.release(work);
      const wait = secondsUntilAllowed(step, work.rotation.settings, new Date());
      if (wait > 0) return this.claims.postpone(work, wait);
      const started = await this.ledger.begin(work, step);
      const result = await this.desk.perform(step, work);
      if (!(await this.ledger.settle(work, started, result))) return;
    }
  }

  private complain({ target }: Work, error: unknown): void {
    if (error instanceof FencedOff) this.logger.warn(`target ${target.id} was taken over by another worker`);
    else this.logger.warn(`target ${target.id} is left to its lease: ${String(error)}`);
  }
}
