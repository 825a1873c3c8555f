import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue } from '../database/fair-queue.js';

/**
 * CpuShare runs synchronous work one piece at a time. After each piece, CpuShare pauses for as long as the piece took, so that the event loop has at least
 * half of the time for other calls. Callers take turns.
 */
export class CpuShare {
  private readonly waiting = new FairQueue<() => void>();
  private isServing = false;

  run<Result>(caller: string, work: () => Result): Promise<Result> {
    const result = new Promise<Result>((resolve, reject) => {
      this.waiting.push(caller, () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
    void this.serve();
    return result;
  }

  private async serve(): Promise<void> {
    if (this.isServing) return;
    this.isServing = true;
    for (let piece = this.waiting.shift(); piece !== undefined; piece = this.waiting.shift()) {
      const start = performance.now();
      piece();
      await sleep(performance.now() - start);
    }
    this.isServing = false;
  }
}
