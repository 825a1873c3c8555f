import { Injectable, Logger } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { WorkPool } from '../../platform/jobs/work-pool.js';
import { RotationClaims } from './model/rotation-claims.js';
import { RolloutController } from './rollout/rollout-controller.js';
import { StepExecutor } from './steps/step-executor.js';
import { RotationRepository } from './model/rotation.repository.js';
import { nextStep } from './model/rotation-state.js';
import { secondsUntilAllowed } from './rotation-window.js';
import type { Work } from './model/rotation-work.js';

const RENEWALS_PER_LEASE = 3;

/** The work of a background worker: claims targets and takes each step by step as far as it goes. */
@Injectable()
export class RotationRunner {
  private readonly logger = new Logger(RotationRunner.name);
  private readonly targets: WorkPool<Work>;

  constructor(
    private readonly claims: RotationClaims,
    private readonly repository: RotationRepository,
    private readonly executor: StepExecutor,
    private readonly rollout: RolloutController,
    private readonly config: Config,
  ) {
    this.targets = new WorkPool({
      most: config.sshRotationConcurrency,
      claim: async () => [await this.claims.claim()].filter((work) => work !== undefined),
      run: (work) => this.run(work),
      failed: (error, work) =>
        this.logger.warn(
          `${work === undefined ? 'targets wait' : `target ${work.target.id} is left to its lease`}: ${String(error)}`,
        ),
    });
  }

  /** Takes on what is due, as much as this process may have in hand. */
  fill(): Promise<void> {
    return this.targets.fill();
  }

  /** Takes nothing on any more, and finishes the step that each target is at. */
  stop(): Promise<void> {
    return this.targets.stop();
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
    await this.rollout.look(work.rotation.id);
  }

  private async advance(claimed: Work): Promise<void> {
    for (let work = claimed; ; work = await this.claims.read(work.target.id)) {
      if (work.target.fence !== claimed.target.fence) return;
      const step = nextStep(work.target.state, work.rotation.status === 'ROLLING_BACK');
      const isOnlyLooking = work.rotation.status === 'SURVEYING' && step !== 'precheck';
      if (step === undefined || isOnlyLooking || this.targets.isStopping) return this.claims.release(work);
      const wait = secondsUntilAllowed(step, work.rotation.settings, new Date());
      if (wait > 0) return this.claims.postpone(work, wait);
      const started = await this.repository.begin(work, step);
      const result = await this.executor.perform(step, work);
      if (!(await this.repository.settle(work, started, result))) return;
    }
  }
}
