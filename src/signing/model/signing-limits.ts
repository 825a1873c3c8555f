import type { Config } from '../../platform/config/config.js';
import { backOff } from '../../platform/jobs/lease.js';
import { timestampingMs } from './timestamping-time.js';

/** How long an attempt may take before the request is given to somebody else: what the HSM and the timestamp may take, and the way there and back. */
export function leaseMs(config: Config): number {
  const others = config.tsaAuthorities.some((name) => name !== 'own') ? timestampingMs(config) : 0;
  return config.pkcs11DeadlineMs + others + 3000;
}

/** A request whose doorbell has not been answered for so long is taken by the sweep. */
export const SWEEP_AFTER_MS = 3000;

/** A request that failed so often in the HSM ends as FAILED: about a minute of trying. */
export const MAX_SIGNING_STRIKES = 8;

/** Wait before attempt number `strikes` + 1, in milliseconds: exponential with full jitter on the upper half. */
export function backoffMs(strikes: number): number {
  const whole = backOff(strikes + 1, 250, 30_000);
  return whole / 2 + (Math.random() * whole) / 2;
}
