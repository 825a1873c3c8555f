import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SingleFlight } from './single-flight.js';

/** Returns work that ends when the test calls an entry of `ends`. */
function heldWork() {
  const ends: ((error?: Error) => void)[] = [];
  const work = () =>
    new Promise<boolean>((resolve, reject) =>
      ends.push((error) => (error === undefined ? resolve(false) : reject(error))),
    );
  return { ends, work };
}

describe('a single flight', () => {
  it('is shared by calls that arrive during a run', async () => {
    const { ends, work } = heldWork();
    const flight = new SingleFlight(() => undefined);
    const both = Promise.all([flight.run(work), flight.run(work)]);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await both;
    void flight.run(work);
    expect(ends).toHaveLength(2);
  });

  it('reports a failure and runs again on the next call', async () => {
    const failures: unknown[] = [];
    const flight = new SingleFlight((error) => failures.push(error));
    const error = new Error('broken');
    await flight.run(() => Promise.reject(error));
    await flight.run(async () => undefined);
    expect(failures).toEqual([error]);
  });

  it('starts nothing after stop, which waits for the current run', async () => {
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
