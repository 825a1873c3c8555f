import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TtlCache } from './ttl-cache.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('what is read is remembered for a few seconds', async () => {
  const read = vi.fn(() => Promise.resolve('valid'));
  const cache = new TtlCache(read);
  await cache.find('k');
  await cache.find('k');
  expect(read).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(3000);
  await cache.find('k');
  expect(read).toHaveBeenCalledTimes(2);
});

it('what is read between the change and its commit is not remembered', async () => {
  let committed = 'valid';
  const cache = new TtlCache(() => Promise.resolve(committed));
  await cache.find('k');
  cache.forget('k');
  expect(await cache.find('k')).toBe('valid');
  committed = 'ended';
  expect(await cache.find('k')).toBe('ended');
  vi.advanceTimersByTime(11_000);
  expect(await cache.find('k')).toBe('ended');
});
