import type { Caller } from '../../../access/caller.js';
import type { SshKey } from '../../keys/ssh-key.entity.js';
import type { RotationTarget, TargetFile } from './rotation-target.entity.js';
import type { StepName, TargetOutcome, TargetState } from './rotation-state.js';
import type { Rotation } from './rotation.entity.js';
import type { KeyReplacement } from '../../authorized-keys/key-replacement.js';

/** What a step needs to know of its target. */
export interface Work {
  readonly rotation: Rotation;
  readonly target: RotationTarget;
  readonly old: SshKey & { readonly blob: Buffer };
  /** Absent until the new key was made. */
  readonly next?: SshKey & { readonly blob: Buffer };
}

export type ReadyWork = Required<Work>;

type Change = Partial<Pick<RotationTarget, 'plan' | 'snapshot' | 'oldEndsAt' | 'verifiedAt'>>;
type Facts = Record<string, unknown>;

/** An attempt that did what it should. */
export interface DoneStep {
  readonly kind: 'done';
  readonly state: TargetState;
  /** OPEN when absent. */
  readonly outcome?: TargetOutcome;
  /** Seconds until the next step; null: it waits for the others. At once when absent. */
  readonly dueIn?: number | null;
  readonly change?: Change;
  readonly detail?: Facts;
  readonly code?: string;
  readonly says?: string;
}

/** How an attempt at a step ended. */
export type StepResult =
  | DoneStep
  | { readonly kind: 'retry'; readonly code: string; readonly says: string; readonly detail?: Facts }
  | {
      readonly kind: 'failed';
      readonly outcome: Exclude<TargetOutcome, 'OPEN'>;
      readonly code: string;
      readonly says: string;
      readonly detail?: Facts;
    };

export interface StartedStep {
  readonly id: string;
  readonly step: StepName;
}

/** Ends an attempt for good: trying the same again would not help. */
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
    nextText: `${next.type} ${next.blob.toString('base64')} ${nextComment(next, rotation)}`,
    originals: new Set(file.originals),
  };
}

/** Whoever ordered the rotation, as the caller of what it does in their name. */
export function requesterOf({ requestedBy, ownerId, correlation }: Rotation): Caller {
  const kind = requestedBy.kind === 'system' || requestedBy.kind === 'anonymous' ? 'api-key' : requestedBy.kind;
  return { ...requestedBy, kind, ownerId, scopes: new Set(), origin: { requestId: correlation, address: '' } };
}

/** People's keys keep their names; ours say which rotation put them there. */
function nextComment({ comment }: SshKey, { id, custody }: Rotation): string {
  return custody === 'human' && comment !== null ? comment : `sealwright:${id}`;
}
