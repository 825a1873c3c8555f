interface Stretch {
  readonly first: number;
  readonly total: number;
  /** Maximum number of visits that are in progress or not yet confirmed by `keep`. */
  readonly maxAhead: number;
}

/** OrderedWalk visits positions concurrently, at most `maxAhead` beyond the last confirmed position. This bounds the work repeated after a crash. */
export class OrderedWalk {
  private readonly ended = new Set<number>();
  private next: number;
  private kept: number;
  private ahead: number;
  private stopped = false;
  private changed = Promise.withResolvers<void>();

  constructor(private readonly stretch: Stretch) {
    this.next = this.kept = this.ahead = stretch.first;
  }

  /** Position before which all visits have ended. */
  get low(): number {
    return this.ahead;
  }

  get isOver(): boolean {
    return this.ahead >= this.stretch.total;
  }

  get isAllKept(): boolean {
    return this.ahead === this.kept;
  }

  /** Confirms that all positions before `position` are recorded, so that the walk can advance. */
  keep(position: number): void {
    this.kept = position;
    this.wake();
  }

  /** Stops the walk. No further visits are started. */
  stop(): void {
    this.stopped = true;
    this.wake();
  }

  /** Visits positions until the end or until `stop`. Resolves when every visit in progress has ended. */
  async run(visit: (position: number) => Promise<void>): Promise<void> {
    const { first, total, maxAhead } = this.stretch;
    const workers = Array.from({ length: Math.min(maxAhead, total - first) }, () => this.worker(visit));
    try {
      await Promise.all(workers);
    } finally {
      this.stop();
      await Promise.allSettled(workers);
    }
  }

  private async worker(visit: (position: number) => Promise<void>): Promise<void> {
    const { total, maxAhead } = this.stretch;
    for (;;) {
      while (!this.stopped && this.next - this.kept >= maxAhead) await this.changed.promise;
      if (this.stopped || this.next >= total) return;
      const position = this.next;
      this.next += 1;
      await visit(position);
      this.ended.add(position);
      while (this.ended.delete(this.ahead)) this.ahead += 1;
    }
  }

  private wake(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }
}
