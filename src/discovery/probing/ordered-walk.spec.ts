import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OrderedWalk } from './ordered-walk.js';

describe('an ordered walk', () => {
  it('visits every position once, and never further ahead of the saved position than allowed', async () => {
    const walk = new OrderedWalk({ first: 5, total: 200, maxAhead: 10 });
    const visited: number[] = [];
    let kept = 5;
    const running = walk.run(async (position) => {
      expect(position).toBeLessThan(kept + 10);
      visited.push(position);
      if (position % 3 === 0) await nextTurn(); // some visits take longer than later ones
    });
    while (!walk.isOver) {
      await nextTurn();
      kept = walk.low;
      walk.keep(kept);
    }
    await running;
    expect(visited.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 195 }, (_, i) => i + 5));
    expect([walk.low, walk.isAllKept]).toEqual([200, true]);
  });

  it('pauses while nothing is saved, and ends when stopped', async () => {
    const walk = new OrderedWalk({ first: 0, total: 100, maxAhead: 4 });
    const visited: number[] = [];
    const running = walk.run(async (position) => void visited.push(position));
    await nextTurn();
    expect([visited, walk.low, walk.isAllKept]).toEqual([[0, 1, 2, 3], 4, false]);
    walk.stop();
    await running;
    expect([visited.length, walk.isOver]).toEqual([4, false]);
  });

  it('starts no more visits after one fails, and rejects once all started visits have ended', async () => {
    const walk = new OrderedWalk({ first: 0, total: 100, maxAhead: 3 });
    let underWay = 0;
    const running = walk.run(async (position) => {
      underWay += 1;
      await nextTurn();
      underWay -= 1;
      if (position === 1) throw new Error('no sockets');
    });
    await expect(running).rejects.toThrow('no sockets');
    expect([underWay, walk.isOver]).toEqual([0, false]);
    expect(walk.low).toBeLessThanOrEqual(1);
  });
});
