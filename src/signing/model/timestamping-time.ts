import type { Config } from '../../platform/config/config.js';

/** Two slow authorities may be waited for; the third has to be quick. */
const SLOW_ONES = 2;

/** What other authorities may take, all together, of the time that an attempt at a signature has. */
export function timestampingMs({ tsaAuthorities, tsaTimeoutMs, pkcs11DeadlineMs }: Config): number {
  return tsaAuthorities.every((name) => name === 'own') ? pkcs11DeadlineMs : SLOW_ONES * tsaTimeoutMs;
}
