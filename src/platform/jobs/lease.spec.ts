import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { backOff, underLease } from './lease.js';

describe('the pause after failures', () => {
  it('doubles from the first to the longest', () => {
    expect([1, 2, 3, 4, 5, 2000].map((attempts) => backOff(attempts, 5, 30))).toEqual([5, 10, 20, 30, 30, 30]);
  });
});

describe('work under a lease', () => {
  it('renews it until it has ended, although a renewal fails', async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      throw new Error('the database is away');
    };
    const work = async () => {
      await vi.waitFor(() => expect(renewals).toBeGreaterThan(2));
      return 'done';
    };
    expect(await underLease(1, renew, work)).toBe('done');
    const atEnd = renewals;
    await sleep(10);
    expect(renewals).toBe(atEnd);
  });

  it('passes its failure on', async () => {
    const broken = underLease(
      1000,
      () => Promise.resolve(),
      () => Promise.reject(new Error('broken')),
    );
    await expect(broken).rejects.toThrow('broken');
  });
});
