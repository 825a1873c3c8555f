export const SIGNING_QUEUE = 'signing';

/** A doorbell: these requests wait. It says nothing that the rows do not say. */
export interface SigningSignal {
  readonly requestIds: string[];
}

/** Requests per ring: large enough that Redis is no cost, small enough that workers share. */
export const MAX_PER_SIGNAL = 50;
