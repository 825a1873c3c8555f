import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BackgroundOptions } from './background.js';
import { BackgroundJob, isFailing } from './background-job.js';

/** Creates a job whose clock the test sets and whose work ends when the test calls an entry of `ends`. */
function jobOf(options: Partial<BackgroundOptions> = {}) {
  const clock = { now: 0, isStopping: false };
  const ends: ((error?: Error, more?: boolean) => void)[] = [];
  const outcomes: string[] = [];
  const work = () =>
    new Promise<boolean>((resolve, reject) =>
      ends.push((error, more = false) => (error === undefined ? resolve(more) : reject(error))),
    );
  const job = new BackgroundJob({ name: 'mail', scope: 'process', every: 1000, ...options }, work, {
    now: () => clock.now,
    execute: async (run) => (await run(), true),
    isStopping: () => clock.isStopping,
    ran: (outcome) => outcomes.push(outcome),
  });
  return { clock, job, ends, outcomes };
}

const broken = new Error('broken');

describe('a background job', () => {
  it('is due after its interval, measured from the start of the last run', async () => {
    const { clock, job, ends } = jobOf();
    expect(job.isTimely).toBe(false);
    clock.now = 1000;
    expect(job.isTimely).toBe(true);
    const run = job.run();
    clock.now = 1600;
    ends[0]?.();
    await run;
    expect(job.isTimely).toBe(false);
    clock.now = 2000;
    expect(job.isTimely).toBe(true);
  });

  it('never overlaps itself: calls during a run cause one run after it', async () => {
    const { job, ends } = jobOf();
    void job.run();
    void job.run();
    void job.run();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await nextTick();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await job.idle();
    expect(ends).toHaveLength(2);
  });

  it('runs again immediately while a run reports more due work', async () => {
    const { job, ends } = jobOf();
    void job.run();
    ends[0]?.(undefined, true);
    await nextTick();
    expect(ends).toHaveLength(2);
  });

  it('retries a failure with a backoff of at most five seconds, whatever its interval', async () => {
    const { clock, job, ends } = jobOf({ every: 60_000 });
    const pauses: number[] = [];
    for (let failures = 1; failures <= 6; failures += 1) {
      const run = job.run();
      ends.at(-1)?.(broken);
      await run;
      const failedAt = clock.now;
      while (!job.isTimely) clock.now += 125;
      pauses.push(Math.round((clock.now - failedAt) / 500) / 2);
    }
    expect(pauses).toEqual([0.5, 1, 2, 4, 5, 5]);
  });

  it('records outcomes, and is failing after three consecutive failures', async () => {
    const { job, ends, outcomes } = jobOf();
    for (const error of [broken, broken, broken]) {
      expect(isFailing(job.read())).toBe(false);
      const run = job.run();
      ends.at(-1)?.(error);
      await run;
    }
    expect(isFailing(job.read())).toBe(true);
    expect(job.read()).toMatchObject({ name: 'mail', runs: 3, consecutiveFailures: 3, lastError: 'Error: broken' });
    const run = job.run();
    ends.at(-1)?.();
    await run;
    expect(job.read()).toMatchObject({ runs: 4, consecutiveFailures: 0, lastError: null });
    expect(outcomes).toEqual(['failed', 'failed', 'failed', 'succeeded']);
  });

  it('is not started by due rows while it is backing off', async () => {
    const { clock, job, ends } = jobOf();
    expect(job.isReady).toBe(true);
    const run = job.run();
    ends[0]?.(broken);
    await run;
    expect(job.isReady).toBe(false);
    clock.now = 500;
    expect(job.isReady).toBe(true);
  });

  it('that failed is recovered when nothing is due any more', async () => {
    const { job, ends } = jobOf();
    const run = job.run();
    ends[0]?.(broken);
    await run;
    job.foundNothing();
    expect(job.read()).toMatchObject({ consecutiveFailures: 0, lastError: null });
    expect(job.isReady).toBe(true);
  });

  it('with cluster scope does not run in the first minute of a process', () => {
    const { clock, job } = jobOf({ scope: 'cluster', every: 24 * 3_600_000 });
    expect(job.isReady).toBe(false);
    clock.now = 60_000;
    expect(job.isReady).toBe(true);
  });

  it('starts nothing once the process is stopping', async () => {
    const { clock, job, ends } = jobOf();
    void job.run();
    void job.run();
    clock.isStopping = true;
    ends[0]?.(undefined, true);
    await job.idle();
    await job.run();
    expect(ends).toHaveLength(1);
  });
});
