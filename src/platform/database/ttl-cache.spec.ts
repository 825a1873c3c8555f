import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TtlCache } from './ttl-cache.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('a value is cached for a few seconds', async () => {
  const read = vi.fn(() => Promise.resolve('valid'));
  const cache = new TtlCache(read);
  await cache.find('k');
  await cache.find('k');
  expect(read).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(3000);
  await cache.find('k');
  expect(read).toHaveBeenCalledTimes(2);
});

it('an expired value is read again, and cached', async () => {
  const read = vi.fn(() => Promise.resolve('valid'));
  const cache = new TtlCache(read);
  await cache.find('k');
  cache.expire('k');
  await cache.find('k');
  await cache.find('k');
  expect(read).toHaveBeenCalledTimes(2);
});

it('an expired value is not cached between a change and its commit', async () => {
  let committed = 'valid';
  const cache = new TtlCache(() => Promise.resolve(committed));
  cache.forget('k');
  cache.expire('k');
  expect(await cache.find('k')).toBe('valid');
  committed = 'ended';
  expect(await cache.find('k')).toBe('ended');
});

it('a value read between a change and its commit is not cached', async () => {
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
