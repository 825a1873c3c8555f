/**
 * TokenChanges runs operations that create or destroy token objects one after another. SoftHSM returns CKR_GENERAL_ERROR if a thread reads the file
 * of an object that another thread is writing or removing, and after that error the process is replaced.
 */
export class TokenChanges {
  private readonly assertMayBegin: () => void;
  private readonly waiting: (() => Promise<void>)[] = [];
  private isRunning = false;

  /** @param assertMayBegin throws if this process must not start further operations; waiting operations are then not started */
  constructor(assertMayBegin: () => void) {
    this.assertMayBegin = assertMayBegin;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push(() => this.begin(work).then(resolve, reject));
      void this.work();
    });
  }

  /** Runs the operation before all waiting ones. */
  runNext<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.unshift(() => this.begin(work).then(resolve, reject));
      void this.work();
    });
  }

  private async begin<T>(work: () => Promise<T>): Promise<T> {
    this.assertMayBegin();
    return work();
  }

  private async work(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) await next();
    this.isRunning = false;
  }
}
