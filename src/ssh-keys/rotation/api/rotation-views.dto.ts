import { ApiProperty } from '@nestjs/swagger';
import { PageOf } from '../../../platform/http/fields/page-of.js';
import type { ReleasedKey } from '../custody/key-release.js';
import { NEW_CUSTODIES, type NewCustody } from '../model/rotation.entity.js';
import {
  ROTATION_STATUSES,
  type RotationStatus,
  TARGET_OUTCOMES,
  TARGET_STATES,
  type TargetOutcome,
  type TargetState,
} from '../model/rotation-state.js';
import { STEP_OUTCOMES, type StepOutcome } from '../model/rotation-target.entity.js';
import type { ShownRotation, ShownTarget } from './rotations.reader.js';

export class RotationFailureView {
  /** Problem code; see docs/errors.md. @example rotation.halted */
  code: string;
  /** @example '3 of 20 accounts could not be rotated.' */
  detail: string;
}

export class RotationView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** ID of the old key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  keyId: string;
  /** ID of the new key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  nextKeyId?: string;
  @ApiProperty({ enum: NEW_CUSTODIES, example: 'service' }) custody: NewCustody;
  /** @example false */
  dryRun: boolean;
  @ApiProperty({ enum: ROTATION_STATUSES, example: 'RUNNING' }) status: RotationStatus;
  /** Number of targets in each state. */
  @ApiProperty({ type: Object, example: { PERMANENT: 1, PLANNED: 19 } }) progress: Record<string, number>;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  approvalId?: string;
  failure?: RotationFailureView;
  /** Warnings about hosts that the last scan could not read completely. These hosts may also accept the key. */
  @ApiProperty({
    type: [String],
    example: ['Host web-3: the last scan could not read /home/app/.ssh/authorized_keys.'],
  })
  warnings: string[];
  /** Time at which the new key was handed over to its holder. @example 2026-11-20T14:00:00Z */
  promotedAt?: Date;
  /** @example 2026-11-20T14:00:00Z */
  createdAt: Date;
  /** @example 2026-11-21T14:00:00Z */
  finishedAt?: Date;

  static of({ rotation, progress, warnings }: ShownRotation): RotationView {
    const { id, keyId, custody, dryRun, status, createdAt, failureCode, failureDetail } = rotation;
    return {
      id,
      keyId,
      nextKeyId: rotation.nextKeyId ?? undefined,
      custody,
      dryRun,
      status,
      progress,
      approvalId: rotation.approvalId ?? undefined,
      failure: failureOf(failureCode, failureDetail),
      warnings: [...warnings],
      promotedAt: rotation.promotedAt ?? undefined,
      createdAt,
      finishedAt: rotation.finishedAt ?? undefined,
    };
  }
}

export class RotationPage extends PageOf(RotationView) {}

export class FileDiffView {
  /** @example /home/deploy/.ssh/authorized_keys */
  path: string;
  /** Diff that adds the new key, in `diff -u` format. @example "--- /home/deploy/.ssh/authorized_keys" */
  adds: string;
  /** Diff of the whole rotation, in `diff -u` format. @example "--- /home/deploy/.ssh/authorized_keys" */
  result: string;
}

export class RotationStepView {
  /** @example verify */
  step: string;
  /** Outcome of the step. `STARTED` without a result means that the worker was lost and that another worker repeated the step. */
  @ApiProperty({ enum: STEP_OUTCOMES, example: 'DONE' }) outcome: StepOutcome;
  /** SHA-256 hashes of the files before and after the step, and the host's response to each key. */
  @ApiProperty({ type: Object, example: { new: 'accepted' } }) detail: Record<string, unknown>;
  /** @example 2026-11-20T14:00:00Z */
  startedAt: Date;
  /** @example 2026-11-20T14:00:01Z */
  endedAt?: Date;
}

export class RotationTargetView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId: string;
  /** @example deploy */
  account: string;
  /** Index of the rollout wave, starting at 0. @example 0 */
  wave: number;
  /** Last completed step. */
  @ApiProperty({ enum: TARGET_STATES, example: 'OVERLAP' }) state: TargetState;
  /** Outcome of the rotation for this target. `OPEN` until the rotation of the target has ended. */
  @ApiProperty({ enum: TARGET_OUTCOMES, example: 'OPEN' }) outcome: TargetOutcome;
  failure?: RotationFailureView;
  /** Time at which sshd stops accepting the old key. @example 2026-11-21T14:00:00Z */
  oldEndsAt?: Date;
  /** Time at which the old key was found again after its removal. @example 2026-12-01T02:00:00Z */
  driftedAt?: Date;
  /** `high` if sshd itself reported which files it reads, otherwise `low`. */
  @ApiProperty({ enum: ['high', 'low'], required: false, example: 'high' }) confidence?: 'high' | 'low';
  /** @example AuthorizedKeysCommand provides keys to sshd as well */
  @ApiProperty({ type: [String], example: ['AuthorizedKeysCommand provides keys to sshd as well'] }) warnings: string[];
  diffs: FileDiffView[];
  steps: RotationStepView[];

  static of({ target, steps }: ShownTarget): RotationTargetView {
    const { id, hostId, account, wave, state, outcome, plan } = target;
    return {
      id,
      hostId,
      account,
      wave,
      state,
      outcome,
      failure: failureOf(target.failureCode, target.failureDetail),
      oldEndsAt: target.oldEndsAt ?? undefined,
      driftedAt: target.driftedAt ?? undefined,
      confidence: plan?.confidence,
      warnings: [...(plan?.warnings ?? [])],
      diffs: (plan?.diffs ?? []).map(({ path, adds, result }) => ({ path, adds, result })),
      steps: steps.map(({ step, outcome: ended, detail, startedAt, endedAt }) => ({
        step,
        outcome: ended,
        detail,
        startedAt,
        endedAt: endedAt ?? undefined,
      })),
    };
  }
}

export class RotationTargetPage extends PageOf(RotationTargetView) {}

export class ReleasedKeyView {
  /** ID of the current key. Differs from the requested key if that key was replaced. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  /** Private key in OpenSSH format, without a passphrase. @example "-----BEGIN OPENSSH PRIVATE KEY-----" */
  privateKey: string;

  static of({ key: { id, fingerprint }, privateKey }: ReleasedKey): ReleasedKeyView {
    return { id, fingerprint, privateKey };
  }
}

function failureOf(code: string | null, detail: string | null): RotationFailureView | undefined {
  return code === null ? undefined : { code, detail: detail ?? '' };
}
