import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StallWatch } from './stall-watch.js';

let ended: number;
let watch: StallWatch;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] });
  ended = 0;
  watch = new StallWatch(() => (ended += 1));
});
afterEach(() => {
  vi.useRealTimers();
});

it('calls back if there is no heartbeat within the limit', () => {
  watch.begin(1000, 0);
  vi.advanceTimersByTime(990);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(20);
  expect(ended).toBe(1);
});

it('does not call back while there are heartbeats', () => {
  watch.begin(1000, 0);
  for (let times = 0; times < 10; times += 1) {
    vi.advanceTimersByTime(900);
    watch.alive();
  }
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1020);
  expect(ended).toBe(1);
});

it('allows more time until the first heartbeat', () => {
  watch.begin(1000, 60_000);
  vi.advanceTimersByTime(50_000);
  expect(ended).toBe(0);
  watch.alive();
  vi.advanceTimersByTime(990);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(20);
  expect(ended).toBe(1);
});

it('calls back when the thread never starts', () => {
  watch.begin(1000, 60_000);
  vi.advanceTimersByTime(61_020);
  expect(ended).toBe(1);
});

it('does not call back after it was stopped', () => {
  watch.begin(1000, 0);
  watch.end();
  vi.advanceTimersByTime(60_000);
  expect(ended).toBe(0);
});
