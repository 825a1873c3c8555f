/** StallWatch calls a function when a thread has sent no heartbeat for too long. */
export class StallWatch {
  private timer: NodeJS.Timeout | undefined;
  private limitMs = 0;
  private lastSign = 0;
  private isStarting = false;

  constructor(private readonly stalled: () => void) {}

  /**
   * @param limitMs maximum time between two heartbeats
   * @param startMs additional time for the first heartbeat
   */
  begin(limitMs: number, startMs: number): void {
    this.limitMs = limitMs;
    this.lastSign = performance.now() + startMs;
    this.isStarting = startMs > 0;
    this.schedule();
  }

  alive(): void {
    this.lastSign = performance.now();
    if (!this.isStarting) return;
    this.isStarting = false;
    this.schedule();
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isStarting = false;
  }

  private schedule(): void {
    clearTimeout(this.timer);
    const left = this.lastSign + this.limitMs - performance.now();
    this.timer = setTimeout(() => this.check(), Math.max(0, left)).unref();
  }

  /** Calls `stalled` if the last heartbeat is too old. Heartbeats that arrived while this thread was busy are processed first. */
  private check(): void {
    const { timer } = this;
    setImmediate(() => {
      if (this.timer !== timer) return;
      if (performance.now() - this.lastSign < this.limitMs) this.schedule();
      else this.stalled();
    });
  }
}
