import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { backOff, jittered } from '../../../platform/work/claim.js';
import { RotationStep, RotationTarget, type StepOutcome } from './rotation-target.entity.js';
import { hasReached, secondsOfOverlap, type StepName, type TargetOutcome, type TargetState } from './rotation-state.js';
import { FencedOff, type StartedStep, type StepResult, type Work } from './rotation-work.js';
import { ROTATION_ACTOR } from './rotation.entity.js';

/** Number of consecutive failed attempts after which a target that is still unchanged is abandoned. */
const MAX_STRIKES_UNTOUCHED = 3;
/** Number of consecutive failed attempts, over about half an hour, after which a target that already has the new key is abandoned. */
const MAX_STRIKES = 40;
const MAX_BACKOFF_SECONDS = 60;

interface Settlement {
  readonly state: TargetState;
  readonly outcome: TargetOutcome;
  /** Seconds until the next step. Null if the target waits. */
  readonly dueIn: number | null;
  /** Seconds until the new key is checked. Null if no check is needed. */
  readonly checkIn: number | null;
  readonly strikes: number;
  readonly code: string | null;
  readonly reason: string | null;
  readonly recorded: StepOutcome;
}

/** RotationRepository stores the log of steps. The start of an attempt is committed before the host is contacted, and its outcome before the next action. */
@Injectable()
export class RotationRepository {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {}

  /** Commits the start of an attempt. Throws FencedOff. */
  async begin({ target }: Work, step: StepName): Promise<StartedStep> {
    return this.db.transaction(async (tx) => {
      await this.assertMine(tx, target);
      const id = newId();
      await tx.insert(RotationStep, { id, targetId: target.id, fence: target.fence, step });
      return { id, step };
    });
  }

  /** Asserts that this worker still holds the target. Call this right before a file on a host is replaced. Throws FencedOff. */
  async assertStillMine({ target }: Work): Promise<void> {
    await this.assertMine(this.db.manager, target);
  }

  /** Commits the outcome of an attempt with its audit entry. Reports whether the next step can be performed immediately. Throws FencedOff. */
  async record(work: Work, started: StartedStep, result: StepResult): Promise<boolean> {
    const { target } = work;
    const settlement = settlementOf(target, started.step, result);
    const { state, outcome, dueIn, checkIn, strikes, code, reason } = settlement;
    const goesOn = outcome === 'OPEN' && dueIn === 0;
    await this.db.transaction(async (tx) => {
      const { affected } = await tx
        .createQueryBuilder()
        .update(RotationTarget)
        .set({
          ...(result.kind === 'done' ? result.change : {}),
          state,
          outcome,
          strikes,
          failureCode: code,
          failureDetail: reason,
          dueAt: dueIn === null || outcome !== 'OPEN' ? null : () => `now() + ${dueIn} * interval '1 second'`,
          checkAt: checkIn === null || outcome !== 'OPEN' ? null : () => `now() + ${checkIn} * interval '1 second'`,
          ...(goesOn ? {} : { worker: null, leaseUntil: null }),
          ...(outcome === 'OPEN' ? {} : { finishedAt: () => 'now()' }),
        })
        .where(`id = :id AND fence = :fence AND state = :was AND outcome = 'OPEN'`, {
          id: target.id,
          fence: target.fence,
          was: target.state,
        })
        .execute();
      if (affected !== 1) throw new FencedOff();
      await this.close(tx, work, started, settlement, result);
    });
    return goesOn;
  }

  private async close(
    tx: EntityManager,
    { rotation, target }: Work,
    { id, step }: StartedStep,
    { state, outcome, recorded, code, reason }: Settlement,
    result: StepResult,
  ): Promise<void> {
    const detail = { ...result.detail, ...(code === null ? {} : { code, says: reason }) };
    await tx
      .createQueryBuilder()
      .update(RotationStep)
      .set({ outcome: recorded, detail: () => ':detail::jsonb', endedAt: () => 'now()' })
      .setParameter('detail', JSON.stringify(detail))
      .where({ id })
      .execute();
    if (recorded === 'RETRY') return;
    await this.audit.append(tx, [
      {
        action: `ssh-rotation.${step}`,
        outcome: recorded === 'DONE' ? 'done' : 'failed',
        actor: ROTATION_ACTOR,
        target: { kind: 'ssh-rotation', id: rotation.id },
        correlation: rotation.correlation,
        detail: { hostId: target.hostId, account: target.account, from: target.state, to: state, outcome, ...detail },
      },
    ]);
  }

  private async assertMine(tx: EntityManager, { id, fence, state }: RotationTarget): Promise<void> {
    const rows: unknown[] = await tx.query(
      `SELECT 1 FROM ssh_rotation_target WHERE id = $1 AND fence = $2 AND state = $3 AND outcome = 'OPEN' AND lease_until > now()`,
      [id, fence, state],
    );
    if (rows.length !== 1) throw new FencedOff();
  }
}

function settlementOf(target: RotationTarget, step: StepName, result: StepResult): Settlement {
  const { state, strikes } = target;
  switch (result.kind) {
    case 'done': {
      const { outcome = 'OPEN', dueIn = 0, checkIn = null, code = null, reason = null } = result;
      return { state: result.state, outcome, dueIn, checkIn, strikes: 0, code, reason, recorded: 'DONE' };
    }
    case 'failed':
      return {
        state,
        outcome: result.outcome,
        dueIn: null,
        checkIn: null,
        strikes,
        code: result.code,
        reason: result.reason,
        recorded: 'FAILED',
      };
    case 'retry': {
      const { code, reason } = result;
      const isTouched = hasReached(state, 'ADDED');
      const spent = strikes + 1 >= (isTouched ? MAX_STRIKES : MAX_STRIKES_UNTOUCHED);
      const outcome = isTouched ? 'BLOCKED' : 'FAILED_PRECHECK';
      const failed = { state, code, reason, checkIn: null };
      if (spent) return { ...failed, outcome, dueIn: null, strikes, recorded: 'FAILED' };
      const again = backoffSeconds(strikes);
      // A failed check of the new key does not postpone the end of the overlap.
      const due =
        step === 'check-new' ? { dueIn: secondsOfOverlap(target), checkIn: again } : { dueIn: again, checkIn: null };
      return { ...failed, ...due, outcome: 'OPEN', strikes: strikes + 1, recorded: 'RETRY' };
    }
  }
}

/** Returns an exponential backoff with jitter. */
function backoffSeconds(strikes: number): number {
  return jittered(backOff(strikes + 1, 1, MAX_BACKOFF_SECONDS));
}
