/** Duration in milliseconds above which a pause follows an operation. */
const LONG_MS = 250;
/** Pause in milliseconds after a long operation, during which only urgent operations start. A vote requires several consecutive urgent operations. */
const REST_MS = 1000;

/**
 * TokenChanges serializes the operations that create or destroy token objects. SoftHSM returns CKR_GENERAL_ERROR if a thread reads the file of an object that
 * another thread is writing or removing, and after that error the process is replaced.
 */
export class TokenChanges {
  private readonly assertMayBegin: () => void;
  private readonly urgent: (() => Promise<void>)[] = [];
  private readonly waiting: (() => Promise<void>)[] = [];
  private isRunning = false;
  /** Until this time, on the clock of performance.now(), only urgent operations start. */
  private restUntil = 0;

  /** @param assertMayBegin throws if this process must not start further operations; waiting operations are then not started */
  constructor(assertMayBegin: () => void) {
    this.assertMayBegin = assertMayBegin;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.enqueue(this.waiting, work);
  }

  /**
   * Runs an urgent operation before all waiting operations. An urgent operation waits for at most one long operation, such as RSA key generation, because only
   * urgent operations start during the pause after a long operation.
   */
  runNext<T>(work: () => Promise<T>): Promise<T> {
    return this.enqueue(this.urgent, work);
  }

  private enqueue<T>(queue: (() => Promise<void>)[], work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      queue.push(() => this.begin(work).then(resolve, reject));
      void this.work();
    });
  }

  private async begin<T>(work: () => Promise<T>): Promise<T> {
    this.assertMayBegin();
    const since = performance.now();
    try {
      return await work();
    } finally {
      const now = performance.now();
      if (now - since > LONG_MS) this.restUntil = now + REST_MS;
    }
  }

  private async work(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    for (let next = this.next(); next !== undefined; next = this.next()) await next();
    this.isRunning = false;
    const rest = this.restUntil - performance.now();
    if (this.waiting.length > 0) setTimeout(() => void this.work(), rest);
  }

  private next(): (() => Promise<void>) | undefined {
    const isResting = performance.now() < this.restUntil && this.mayBegin();
    return this.urgent.shift() ?? (isResting ? undefined : this.waiting.shift());
  }

  /** Reports whether operations may start. If not, waiting operations are rejected without a pause. */
  private mayBegin(): boolean {
    try {
      this.assertMayBegin();
      return true;
    } catch {
      return false;
    }
  }
}
