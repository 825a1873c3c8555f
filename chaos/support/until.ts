import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 200;

/** Polls until `look` returns a truthy value. Throws after `seconds`, with the last error of `look` as the cause. */
export async function until<Found>(
  what: string,
  seconds: number,
  look: () => Promise<Found | false | undefined>,
): Promise<Found> {
  const end = performance.now() + seconds * 1000;
  for (let cause: unknown; ; await sleep(PAUSE_MS)) {
    const found = await look().catch((error: unknown) => void (cause = error));
    if (found !== false && found !== undefined) return found;
    if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for ${what}`, { cause });
  }
}
