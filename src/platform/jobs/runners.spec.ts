import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CoalescingRunner, SingleFlight, TopicRunners } from './runners.js';

/** Work that ends when the test says so. */
function heldWork() {
  const ends: ((error?: Error) => void)[] = [];
  const work = () =>
    new Promise<boolean>((resolve, reject) =>
      ends.push((error) => (error === undefined ? resolve(false) : reject(error))),
    );
  return { ends, work };
}

describe('a single flight', () => {
  it('is joined by calls that come during a run', async () => {
    const { ends, work } = heldWork();
    const flight = new SingleFlight(() => undefined);
    const both = Promise.all([flight.run(work), flight.run(work)]);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await both;
    void flight.run(work);
    expect(ends).toHaveLength(2);
  });

  it('reports a failure and runs again at the next call', async () => {
    const failures: unknown[] = [];
    const flight = new SingleFlight((error) => failures.push(error));
    const error = new Error('broken');
    await flight.run(() => Promise.reject(error));
    await flight.run(async () => undefined);
    expect(failures).toEqual([error]);
  });

  it('begins nothing after a stop, which waits for the run under way', async () => {
    const { ends, work } = heldWork();
    const flight = new SingleFlight(() => undefined);
    void flight.run(work);
    let isOver = false;
    const stopped = flight.stop().then(() => (isOver = true));
    await nextTick();
    expect([flight.isStopping, isOver]).toEqual([true, false]);
    ends[0]?.();
    await stopped;
    await flight.run(work);
    expect(ends).toHaveLength(1);
  });
});

describe('a coalescing runner', () => {
  it('adds one round to that under way, however often it is woken meanwhile', async () => {
    const { ends, work } = heldWork();
    const runner = new CoalescingRunner(work, () => undefined);
    for (let i = 0; i < 3; i += 1) runner.wake();
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await nextTick();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await nextTick();
    expect(ends).toHaveLength(2);
  });

  it('goes on at once while a round says that there is more', async () => {
    let left = 3;
    const runner = new CoalescingRunner(
      async () => (left -= 1) > 0,
      () => undefined,
    );
    runner.wake();
    await nextTick();
    expect(left).toBe(0);
  });

  it('waits for the next wake-up after a failure', async () => {
    const failures: unknown[] = [];
    let rounds = 0;
    const runner = new CoalescingRunner(
      async () => {
        rounds += 1;
        throw new Error('broken');
      },
      (error) => failures.push(error),
    );
    runner.wake();
    await nextTick();
    runner.wake();
    await nextTick();
    expect([rounds, failures.length]).toEqual([2, 2]);
  });
});

describe('runners of topics', () => {
  it('wake only the topic that is named, and by time each of which something waits', async () => {
    const rounds: string[] = [];
    const waiting = new Set<'a' | 'b'>();
    const topics = new TopicRunners<'a' | 'b'>(5, (all) => Promise.resolve(all.filter((one) => waiting.has(one))));
    const round = (name: string) => async () => {
      rounds.push(name);
      return false;
    };
    topics.serve('a', round('a'), () => undefined);
    topics.serve('b', round('b'), () => undefined);
    topics.wake('b');
    expect(rounds).toEqual(['b']);
    await sleep(30);
    expect(rounds).toEqual(['b']);
    waiting.add('a');
    while (!rounds.includes('a')) await nextTick();
    await topics.stop();
    expect(rounds.filter((name) => name === 'b')).toHaveLength(1);
    const atEnd = rounds.length;
    topics.wake('a');
    expect(rounds).toHaveLength(atEnd);
  });

  it('wake all of them when it cannot be seen of which something waits', async () => {
    const rounds = new Set<string>();
    const topics = new TopicRunners<'a' | 'b'>(5, () => Promise.reject(new Error('the database is away')));
    const round = (name: string) => async () => {
      rounds.add(name);
      return false;
    };
    topics.serve('a', round('a'), () => undefined);
    topics.serve('b', round('b'), () => undefined);
    while (rounds.size < 2) await nextTick();
    await topics.stop();
  });
});
