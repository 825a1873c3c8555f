import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WorkPool } from './work-pool.js';

/** Work that is due, in rows of which a claim takes the first, and that ends when the test says so. */
function workOf(due: string[], most: number, perClaim = most) {
  const ends = new Map<string, (error?: Error) => void>();
  const failures: [string, string | undefined][] = [];
  const pool = new WorkPool<string>({
    most,
    claim: async (room) => due.splice(0, Math.min(room, perClaim)),
    run: (work) =>
      new Promise((resolve, reject) => {
        ends.set(work, (error) => (ends.delete(work), error === undefined ? resolve() : reject(error)));
      }),
    failed: (error, work) => failures.push([(error as Error).message, work]),
  });
  return { pool, ends, failures, inHand: () => [...ends.keys()] };
}

describe('a pool', () => {
  it('has no more in hand than it may, and takes the next when one ends', async () => {
    const { pool, ends, inHand } = workOf(['a', 'b', 'c', 'd'], 2);
    await Promise.all([pool.fill(), pool.fill()]);
    expect(inHand()).toEqual(['a', 'b']);
    ends.get('a')?.();
    await turn();
    expect(inHand()).toEqual(['b', 'c']);
  });

  it('fills its room from claims that give one at a time', async () => {
    const { pool, inHand } = workOf(['a', 'b', 'c'], 2, 1);
    await pool.fill();
    expect(inHand()).toEqual(['a', 'b']);
  });

  it('goes on after a failure, of which it tells', async () => {
    const { pool, ends, failures, inHand } = workOf(['a', 'b'], 1);
    await pool.fill();
    ends.get('a')?.(new Error('broken'));
    await turn();
    expect(failures).toEqual([['broken', 'a']]);
    expect(inHand()).toEqual(['b']);
  });

  it('that cannot claim says so, and claims at the next look', async () => {
    let isAway = true;
    const failures: unknown[] = [];
    const begun: string[] = [];
    const pool = new WorkPool<string>({
      most: 1,
      claim: async () => {
        if (isAway) throw new Error('the database is away');
        return begun.length === 0 ? ['a'] : [];
      },
      run: async (work) => void begun.push(work),
      failed: (...failure) => failures.push(failure),
    });
    await pool.fill();
    expect([failures.length, begun]).toEqual([1, []]);
    isAway = false;
    await pool.fill();
    expect([failures.length, begun]).toEqual([1, ['a']]);
  });

  it('that stops takes nothing more on and waits for what is in hand', async () => {
    const { pool, ends, inHand } = workOf(['a', 'b', 'c'], 2);
    await pool.fill();
    let isOver = false;
    const stopped = pool.stop().then(() => (isOver = true));
    expect(pool.isStopping).toBe(true);
    ends.get('a')?.();
    await turn();
    expect([inHand(), isOver]).toEqual([['b'], false]);
    ends.get('b')?.();
    await stopped;
    await pool.fill();
    expect(inHand()).toEqual([]);
  });
});
