import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RecentValue } from './recent-value.js';

describe('a recent value', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('is read once for concurrent calls, and again when it is too old or was invalidated', async () => {
    let reads = 0;
    const value = new RecentValue(1000, () => Promise.resolve((reads += 1)));
    expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1]);
    vi.advanceTimersByTime(999);
    expect(await value.get()).toBe(1);
    vi.advanceTimersByTime(1);
    expect(await value.get()).toBe(2);
    value.forget();
    expect(await value.get()).toBe(3);
  });

  it('is read again by the next call after a failure', async () => {
    const answers = [Promise.reject(new Error('away')), Promise.resolve('there')];
    const value = new RecentValue(1000, () => answers.shift() as Promise<string>);
    await expect(value.get()).rejects.toThrow('away');
    expect(await value.get()).toBe('there');
  });
});
