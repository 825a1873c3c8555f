import { setTimeout as sleep } from 'node:timers/promises';

/**
 * CpuShare runs synchronous work one piece at a time and pauses after each piece for as long as it took. The event loop has at least half of the time for other
 * calls.
 */
export class CpuShare {
  private last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Result): Promise<Result> {
    const turn = this.last.then(async () => {
      const start = performance.now();
      try {
        return work();
      } finally {
        await sleep(performance.now() - start);
      }
    });
    this.last = turn.catch(() => undefined);
    return turn;
  }
}
