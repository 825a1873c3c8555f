import { backOff, jittered, WORKER_ID } from '../platform/work/claim.js';
import type { Config } from '../platform/config/config.js';
import type { Actor } from '../access/caller.js';
import type { NewEntry } from '../audit/entries/audit.service.js';

export const SIGNING_QUEUE = 'signing';

/** A job signal for waiting requests. The signal contains only data that is also in the rows of the requests. */
export interface SigningSignal {
  readonly requestIds: string[];
}

/** Maximum number of requests per job signal: the size of one group commit, so that one transaction claims and one transaction settles the requests. */
export const MAX_PER_SIGNAL = 128;

/** Actor of audit entries about actions that no caller caused. */
export const SIGNING_ACTOR: Actor = { kind: 'system', id: WORKER_ID, name: 'signing worker' };

/**
 * requestEntry returns an audit entry about an action on a signing request that no caller caused.
 *
 * @param outcome `failed` for an action that was not carried out
 */
export function requestEntry(
  action: string,
  { id, correlation }: { readonly id: string; readonly correlation: string },
  detail: NewEntry['detail'],
  outcome?: 'failed',
): NewEntry {
  return { action, outcome, actor: SIGNING_ACTOR, target: { kind: 'signing-request', id }, correlation, detail };
}

/**
 * Returns the lease duration of an attempt in milliseconds, after which another worker can claim the request: the time limits of the HSM and of the timestamp,
 * plus slack.
 */
export function leaseMs(config: Config): number {
  const others = config.tsaAuthorities.some((name) => name !== 'own') ? timestampingMs(config) : 0;
  return config.pkcs11DeadlineMs + others + 3000;
}

/** Time in milliseconds after which the sweep claims a request whose job signal was not handled. */
export const SWEEP_AFTER_MS = 3000;

/** Number of failed HSM attempts, over about a minute, after which a request becomes FAILED. */
export const MAX_SIGNING_STRIKES = 8;

/** Returns the delay before attempt number `strikes` + 1, in milliseconds: exponential with full jitter on the upper half. */
export function backoffMs(strikes: number): number {
  return jittered(backOff(strikes + 1, 250, 30_000));
}

/** Number of timestamp authorities that can each use a full time limit. Any further authority has only the remaining time. */
const MAX_SLOW_AUTHORITIES = 2;

/** Returns the time limit in milliseconds for all timestamp authorities together, within an attempt. */
export function timestampingMs({ tsaAuthorities, tsaTimeoutMs, pkcs11DeadlineMs }: Config): number {
  return tsaAuthorities.every((name) => name === 'own') ? pkcs11DeadlineMs : MAX_SLOW_AUTHORITIES * tsaTimeoutMs;
}
