import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TokenChanges } from './token-changes.js';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const KEY_MS = 4000;
const STATEMENTS_MS = 100;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const slow = () => sleep(KEY_MS).then(() => 'key');

/** Runs urgent operations separated by pauses, like the database statements of a vote. Returns the total duration. */
async function vote(changes: TokenChanges): Promise<number> {
  const since = performance.now();
  for (let call = 0; call < 3; call += 1) {
    await changes.runNext(() => Promise.resolve());
    await sleep(STATEMENTS_MS);
  }
  return performance.now() - since;
}

it('delays urgent operations by at most one long one, however many are waiting', async () => {
  const changes = new TokenChanges(() => undefined);
  const keys = Array.from({ length: 9 }, () => changes.run(slow));
  const voted = vote(changes);
  await vi.runAllTimersAsync();
  expect(await voted).toBeLessThanOrEqual(KEY_MS + 3 * STATEMENTS_MS);
  expect(await Promise.all(keys)).toEqual(Array(9).fill('key'));
});

it('does not delay operations after short ones', async () => {
  const changes = new TokenChanges(() => undefined);
  const since = performance.now();
  for (let i = 0; i < 5; i += 1) await changes.run(() => Promise.resolve());
  expect(performance.now() - since).toBe(0);
});

it('rejects waiting operations at once when the process must not begin any', async () => {
  let isLeaving = false;
  const changes = new TokenChanges(() => {
    if (isLeaving) throw new Error('leaving');
  });
  const first = changes.run(slow);
  const second = changes.run(slow);
  const settled = Promise.allSettled([first, second]);
  await vi.advanceTimersByTimeAsync(1000);
  isLeaving = true;
  await vi.advanceTimersByTimeAsync(KEY_MS - 1000);
  expect(await settled).toMatchObject([{ value: 'key' }, { reason: new Error('leaving') }]);
});
