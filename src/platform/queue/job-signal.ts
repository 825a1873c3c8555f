import type { JobOptions } from 'bull';

/**
 * Options of a signal in a queue. The rows own attempts and retries, so Bull makes one attempt and keeps nothing.
 * No Bull time-out either: it fails the job while the handler runs on.
 */
export const JOB_SIGNAL_OPTIONS: JobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };
