import type { Stage } from '../../test/support/stage.js';

/** Environment of both parts of the proof. */
export interface Environment {
  readonly stage: Stage;
  readonly apiKey: string;
  /** Lines for sshd_config on every host. */
  readonly config: string[];
  readonly say: (line: string) => void;
}

/** The rate limit is high, because the login hammers request the current key before every login. */
export const SETTINGS = {
  SVC_ALLOW_LOOPBACK: 'yes',
  SVC_RATE_LIMIT_PER_MINUTE: '1000000',
  SVC_SSH_ROTATION_LEASE_SECONDS: '3',
  SVC_SSH_ROTATION_CONCURRENCY: '24',
};

export function median(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}
