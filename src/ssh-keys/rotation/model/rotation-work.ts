import { type Caller, callerOfOrder } from '../../../access/caller.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { RotationTarget, TargetFile } from './rotation-target.entity.js';
import type { StepName, TargetOutcome, TargetState } from './rotation-state.js';
import type { Rotation } from './rotation.entity.js';
import { type KeyReplacement, withoutTag } from '../../authorized-keys/key-replacement.js';

/** A claimed target with what a step needs to know of it. */
export interface Work {
  readonly rotation: Rotation;
  readonly target: RotationTarget;
  readonly old: SshKey & { readonly blob: Buffer };
  /** Absent until the new key was made. */
  readonly next?: SshKey & { readonly blob: Buffer };
}

export type ReadyWork = Required<Work>;

type Change = Partial<
  Pick<RotationTarget, 'plan' | 'snapshot' | 'oldEndsAt' | 'verifiedAt' | 'overlapEndsAt' | 'restoreNext'>
>;
type Facts = Record<string, unknown>;

/** A step that succeeded. */
export interface DoneStep {
  readonly kind: 'done';
  readonly state: TargetState;
  /** OPEN when absent. */
  readonly outcome?: TargetOutcome;
  /** Seconds until the next step; 0 when absent, null while the target waits for the others. */
  readonly dueIn?: number | null;
  /** Seconds until the next check of the new key; none when absent. */
  readonly checkIn?: number;
  readonly change?: Change;
  readonly detail?: Facts;
  readonly code?: string;
  readonly reason?: string;
}

/** Outcome of one attempt at a step. */
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

/** Another worker has claimed the target since: whatever this one still does for it is dropped. */
export class FencedOff extends Error {
  constructor() {
    super('the target belongs to another worker now');
  }
}

/** A failure that another attempt cannot mend. */
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
    // A person's key has the comment that its owner gave it; all others keep the comments of the lines that they replace.
    ...(rotation.custody === 'human' && next.comment !== null ? { nextComment: next.comment } : {}),
    tag: rotationTag(rotation.id),
    originals: new Set(file.originals),
  };
}

/** The comment of the key that replaces another one: it often names the owner. */
export function commentAfter({ comment }: Pick<SshKey, 'comment'>, rotationId: string): string {
  return withoutTag(comment ?? '') || rotationTag(rotationId);
}

/** Marks the lines of a rotation, behind their comments. */
export function rotationTag(rotationId: string): string {
  return `sealwright:${rotationId}`;
}

/** The requester of the rotation, as the caller of what is done in their name. */
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
    'A rotation of this key is in progress. Wait for its end; retry it if it is halted, or roll it back before its handover.',
  );
}
