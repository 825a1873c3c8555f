import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WorkPool } from './work-pool.js';

/** Returns a pool whose claims take due work from the front of the list. The test ends each piece of work. */
function workOf(due: string[], max: number, perClaim = max) {
  const ends = new Map<string, (error?: Error) => void>();
  const failures: [string, string | undefined][] = [];
  const pool = new WorkPool<string>({
    max,
    claim: async (capacity) => due.splice(0, Math.min(capacity, perClaim)),
    run: (work) =>
      new Promise((resolve, reject) => {
        ends.set(work, (error) => (ends.delete(work), error === undefined ? resolve() : reject(error)));
      }),
    failed: (error, work) => failures.push([(error as Error).message, work]),
  });
  return { pool, ends, failures, underWay: () => [...ends.keys()] };
}

describe('a work pool', () => {
  it('respects its concurrency limit, and starts the next item when one ends', async () => {
    const { pool, ends, underWay } = workOf(['a', 'b', 'c', 'd'], 2);
    await Promise.all([pool.fill(), pool.fill()]);
    expect(underWay()).toEqual(['a', 'b']);
    ends.get('a')?.();
    await nextTick();
    expect(underWay()).toEqual(['b', 'c']);
  });

  it('fills its capacity from claims that return one item at a time', async () => {
    const { pool, underWay } = workOf(['a', 'b', 'c'], 2, 1);
    await pool.fill();
    expect(underWay()).toEqual(['a', 'b']);
  });

  it('continues after a failure, and reports it', async () => {
    const { pool, ends, failures, underWay } = workOf(['a', 'b'], 1);
    await pool.fill();
    ends.get('a')?.(new Error('broken'));
    await nextTick();
    expect(failures).toEqual([['broken', 'a']]);
    expect(underWay()).toEqual(['b']);
  });

  it('reports a failed claim, and claims again on the next call', async () => {
    let isAway = true;
    const failures: unknown[] = [];
    const begun: string[] = [];
    const pool = new WorkPool<string>({
      max: 1,
      claim: async () => {
        if (isAway) throw new Error('the database is away');
        return begun.length === 0 ? ['a'] : [];
      },
      run: async (work) => void begun.push(work),
      failed: (...failure) => failures.push(failure),
    });
    await expect(pool.fill()).rejects.toThrow('the database is away');
    isAway = false;
    await pool.fill();
    expect([failures.length, begun]).toEqual([0, ['a']]);
  });

  it('starts nothing after stop, which waits for running work', async () => {
    const { pool, ends, underWay } = workOf(['a', 'b', 'c'], 2);
    await pool.fill();
    let isOver = false;
    const stopped = pool.stop().then(() => (isOver = true));
    expect(pool.isStopping).toBe(true);
    ends.get('a')?.();
    await nextTick();
    expect([underWay(), isOver]).toEqual([['b'], false]);
    ends.get('b')?.();
    await stopped;
    await pool.fill();
    expect(underWay()).toEqual([]);
  });
});
