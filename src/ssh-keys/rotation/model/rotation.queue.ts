export const ROTATION_QUEUE = 'ssh-rotation';

/** A doorbell: these targets are due. */
export interface RotationSignal {
  readonly targetIds: string[];
}
