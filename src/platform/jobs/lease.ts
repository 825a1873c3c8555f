import { randomUUID } from 'node:crypto';

/** Names this process in the rows that it has claimed. New at every start: a process that died does not come back under its name. */
export const WORKER_ID = randomUUID();

/** Answers the pause after so many attempts (1 or more): `first`, doubled by each further attempt, at most `longest`; in their unit. */
export function backOff(attempts: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** (attempts - 1));
}

/** Between half of a pause and all of it, at random: so that processes that failed together do not come again together. */
export function jittered(pause: number): number {
  return pause * (0.5 + Math.random() / 2);
}

/** Does `work` and renews its lease every `everyMs` until it has ended. A renewal that fails is made up for by the next one. */
export async function underLease<Result>(
  everyMs: number,
  renew: () => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const timer = setInterval(() => void renew().catch(() => undefined), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
