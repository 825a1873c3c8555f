import type { JobOptions } from 'bull';

export const SIGNING_QUEUE = 'signing';

/** A doorbell: these requests wait. It says nothing that the rows do not say. */
export interface SigningBell {
  readonly requestIds: string[];
}

/** Requests per ring: large enough that Redis is no cost, small enough that workers share. */
export const MOST_PER_BELL = 50;

/**
 * The rows own attempts and retries, so Bull makes one attempt and keeps nothing.
 * No Bull time-out either: it fails the job while the handler runs on.
 */
export const BELL_OPTIONS: JobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };
