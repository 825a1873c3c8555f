import { type Caller, callerOfOrder } from '../../../access/caller.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { RotationTarget, TargetFile } from './rotation-target.entity.js';
import type { StepName, TargetOutcome, TargetState } from './rotation-state.js';
import type { Rotation } from './rotation.entity.js';
import { type KeyReplacement, withoutTag } from '../key-lines/key-replacement.js';

/** Work is a claimed target with the data that a step needs. */
export interface Work {
  readonly rotation: Rotation;
  readonly target: RotationTarget;
  readonly old: SshKey & { readonly blob: Buffer };
  /** New key. Undefined until the new key has been generated. */
  readonly next?: SshKey & { readonly blob: Buffer };
}

export type ReadyWork = Required<Work>;

type Change = Partial<
  Pick<RotationTarget, 'plan' | 'snapshot' | 'oldEndsAt' | 'verifiedAt' | 'overlapEndsAt' | 'restoreNext'>
>;
type Facts = Record<string, unknown>;

/** DoneStep is the result of a step that succeeded. */
export interface DoneStep {
  readonly kind: 'done';
  readonly state: TargetState;
  /** Defaults to OPEN. */
  readonly outcome?: TargetOutcome;
  /** Seconds until the next step. Null while the target waits for other targets. Default: 0. */
  readonly dueIn?: number | null;
  /** Seconds until the next check of the new key. Undefined for no check. */
  readonly checkIn?: number;
  readonly change?: Change;
  readonly detail?: Facts;
  readonly code?: string;
  readonly reason?: string;
}

/** StepResult is the outcome of one attempt at a step. */
export type StepResult =
  | DoneStep
  | { readonly kind: 'retry'; readonly code: string; readonly reason: string; readonly detail?: Facts }
  | {
      readonly kind: 'failed';
      readonly outcome: Exclude<TargetOutcome, 'OPEN'>;
      readonly code: string;
      readonly reason: string;
      readonly detail?: Facts;
    };

export interface StartedStep {
  readonly id: string;
  readonly step: StepName;
}

/** FencedOff is thrown when another worker has claimed the target. Further results of the current worker are discarded. */
export class FencedOff extends Error {
  constructor() {
    super('the target was claimed by another worker');
  }
}

/** StepFailure is a failure that a retry cannot resolve. */
export class StepFailure extends Error {
  constructor(
    readonly outcome: Exclude<TargetOutcome, 'OPEN'>,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export function replacementOf({ rotation, old, next }: ReadyWork, file: TargetFile): KeyReplacement {
  return {
    path: file.path,
    old: old.blob,
    next: next.blob,
    nextKey: `${next.type} ${next.blob.toString('base64')}`,
    // A user's key keeps the comment that the user chose. Any other key gets the comments of the lines that it replaces.
    ...(rotation.custody === 'human' && next.comment !== null ? { nextComment: next.comment } : {}),
    tag: rotationTag(rotation.id),
    originals: new Set(file.originals),
  };
}

/** Returns the comment of the replacement key. The old comment is kept, because it often names the owner. */
export function commentAfter({ comment }: Pick<SshKey, 'comment'>, rotationId: string): string {
  return withoutTag(comment ?? '') || rotationTag(rotationId);
}

/** Returns the tag that ends the comments of lines written by a rotation. */
export function rotationTag(rotationId: string): string {
  return `sealwright:${rotationId}`;
}

/** Returns the requester of the rotation as the caller, for actions on behalf of the requester. */
export function requesterOf({ requestedBy, ownerId, correlation }: Rotation): Caller {
  return callerOfOrder(requestedBy, {
    ownerId,
    using: ['keys:rotate'],
    origin: { requestId: correlation, address: '' },
  });
}

export function rotationUnderWay(): Problem {
  return new Problem(
    'conflict',
    'rotation.under-way',
    'A rotation of this key is already in progress. Wait until it ends. If it is halted, retry it, or roll it back before its handover.',
  );
}
