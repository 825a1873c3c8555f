import { backOff, jittered, WORKER_ID } from '../../platform/jobs/claim.js';
import type { Config } from '../../platform/config/config.js';
import type { Actor } from '../../access/caller.js';
import type { NewEntry } from '../../audit/entries/audit.service.js';

export const SIGNING_QUEUE = 'signing';

/** A job signal: these requests wait. It holds nothing that the rows do not hold. */
export interface SigningSignal {
  readonly requestIds: string[];
}

/** Requests per job signal: as many as one group of the intake commits, so that one transaction each claims and settles them, too. */
export const MAX_PER_SIGNAL = 128;

/** The actor of audit entries that no caller caused. */
export const SIGNING_ACTOR: Actor = { kind: 'system', id: WORKER_ID, name: 'signing worker' };

/**
 * requestEntry returns the audit entry about a signing request that no caller caused.
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

/** Milliseconds that an attempt may take before another worker gets the request: the limits of the HSM and of the timestamp, and some slack. */
export function leaseMs(config: Config): number {
  const others = config.tsaAuthorities.some((name) => name !== 'own') ? timestampingMs(config) : 0;
  return config.pkcs11DeadlineMs + others + 3000;
}

/** The sweep takes a request whose job signal was not handled for this long. */
export const SWEEP_AFTER_MS = 3000;

/** A request that failed this often in the HSM ends as FAILED: about a minute of attempts. */
export const MAX_SIGNING_STRIKES = 8;

/** Wait before attempt number `strikes` + 1, in milliseconds: exponential with full jitter on the upper half. */
export function backoffMs(strikes: number): number {
  return jittered(backOff(strikes + 1, 250, 30_000));
}

/** Authorities that may each take their whole time limit; a third has to be quick. */
const MAX_SLOW_AUTHORITIES = 2;

/** Milliseconds of an attempt that all timestamp authorities together may take. */
export function timestampingMs({ tsaAuthorities, tsaTimeoutMs, pkcs11DeadlineMs }: Config): number {
  return tsaAuthorities.every((name) => name === 'own') ? pkcs11DeadlineMs : MAX_SLOW_AUTHORITIES * tsaTimeoutMs;
}
