import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import { newId } from '../../../platform/database/new-id.js';
import { writeUnique } from '../../../platform/errors/database-error.js';
import { type IdempotentUse, IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { Background } from '../../../platform/work/background.js';
import { WorkPool } from '../../../platform/work/work-pool.js';
import { DUE_TARGET, RotationClaims } from '../model/rotation-claims.js';
import { nextStep, secondsOfOverlap, secondsUntilAllowed } from '../model/rotation-state.js';
import { rotationUnderWay, type Work } from '../model/rotation-work.js';
import { RotationRepository } from '../model/rotation.repository.js';
import { NewRotationWriter } from '../planning/new-rotation.writer.js';
import { RotationPlanner, type SshKeyRotationOrder } from '../planning/rotation-planner.js';
import { RotationRequirements } from '../planning/rotation-requirements.js';
import { RolloutController, STALLED_ROTATION } from './rollout-controller.js';
import { StepExecutor } from '../steps/step-executor.js';

/** RotationOrders handles requests for rotations: it plans the rotation, evaluates the policies, and records the rotation. No host is contacted. */
@Injectable()
export class RotationOrders {
  constructor(
    private readonly db: DataSource,
    private readonly idempotency: IdempotencyKeys,
    private readonly planner: RotationPlanner,
    private readonly requirements: RotationRequirements,
    private readonly writer: NewRotationWriter,
  ) {}

  /** Requests a rotation. Returns the ID of the rotation, or of the rotation recorded earlier with the same Idempotency-Key. */
  async place(caller: Caller, order: SshKeyRotationOrder, use?: IdempotentUse): Promise<string> {
    const id = use?.resource ?? newId();
    const plan = await this.planner.plan(order);
    const judgement = order.dryRun ? undefined : await this.requirements.judge(caller, plan);
    const newKey = await this.planner.makeKey(plan, id);
    const record = async (tx: EntityManager): Promise<string> => {
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return earlier;
      if (judgement !== undefined) await this.requirements.assertCurrent(tx, caller, judgement);
      await this.writer.insert(tx, caller, { id, plan, newKey, demand: judgement?.demand });
      return id;
    };
    const recorded = await writeUnique(this.db, record, rotationUnderWay);
    this.writer.committed();
    return recorded;
  }
}

/**
 * RotationRunner runs rotations in the background: it claims a target, performs its steps, and records the outcomes, until the target has to wait. After each
 * target, the rollout controller decides how the whole rotation continues: with the next wave, the approval, the handover, or the end.
 */
@Injectable()
export class RotationRunner {
  private readonly logger = new Logger(RotationRunner.name);
  private readonly targets: WorkPool<Work>;

  constructor(
    private readonly claims: RotationClaims,
    private readonly repository: RotationRepository,
    private readonly executor: StepExecutor,
    private readonly rollout: RolloutController,
    config: Config,
  ) {
    this.targets = new WorkPool({
      max: config.sshRotationConcurrency,
      claim: async () => [await this.claims.claim()].filter((work) => work !== undefined),
      run: (work) => this.run(work),
      failed: (error, { target }) =>
        this.logger.warn(`target ${target.id} remains leased until the lease expires: ${String(error)}`),
    });
  }

  /** Claims due targets up to the concurrency of this process. */
  @Background({ name: 'ssh-rotation-targets', scope: 'process', due: DUE_TARGET })
  fill(): Promise<void> {
    return this.targets.fill();
  }

  /** Advances rotations whose targets are all waiting or finished. */
  @Background({ name: 'ssh-rotation-rollout', scope: 'process', due: STALLED_ROTATION })
  rollOut(): Promise<void> {
    return this.rollout.lookAtAll();
  }

  /** Stops claiming targets, and finishes the current step of each target. */
  stop(): Promise<void> {
    return this.targets.stop();
  }

  private async run(work: Work): Promise<void> {
    await this.claims.hold(work, () => this.advance(work));
    await this.rollout.look(work.rotation.id);
  }

  private async advance(claimed: Work): Promise<void> {
    for (let work = claimed; ; work = await this.claims.read(work.target.id)) {
      if (work.target.fence !== claimed.target.fence) return;
      const { status, settings } = work.rotation;
      const step = nextStep(work.target.state, status === 'ROLLING_BACK', secondsOfOverlap(work.target) > 0);
      const isSurveyed = status === 'SURVEYING' && step !== 'precheck';
      if (step === undefined || isSurveyed || this.targets.isStopping) return this.claims.release(work);
      const wait = secondsUntilAllowed(step, settings.window, new Date());
      if (wait > 0) return this.claims.postpone(work, wait);
      const started = await this.repository.begin(work, step);
      const result = await this.executor.perform(step, work);
      if (!(await this.repository.record(work, started, result))) return;
    }
  }
}
