/** Finds out that a thread gives no sign of life any more. */
export class StallWatch {
  private timer: NodeJS.Timeout | undefined;
  private limitMs = 0;
  private heard = 0;
  private isStarting = false;

  constructor(private readonly stalled: () => void) {}

  /** @param limitMs between two signs of life. @param startMs what the first one may take longer. */
  begin(limitMs: number, startMs: number): void {
    this.limitMs = limitMs;
    this.heard = performance.now() + startMs;
    this.isStarting = startMs > 0;
    this.look();
  }

  alive(): void {
    this.heard = performance.now();
    if (!this.isStarting) return;
    this.isStarting = false;
    this.look();
  }

  end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isStarting = false;
  }

  private look(): void {
    clearTimeout(this.timer);
    const left = this.heard + this.limitMs - performance.now();
    this.timer = setTimeout(() => this.judge(), Math.max(0, left)).unref();
  }

  /** Signs that came while this thread itself was busy are heard first. */
  private judge(): void {
    const { timer } = this;
    setImmediate(() => {
      if (this.timer !== timer) return;
      if (performance.now() - this.heard < this.limitMs) this.look();
      else this.stalled();
    });
  }
}
