interface Stretch {
  readonly first: number;
  readonly total: number;
  /** Maximum visits that are under way or not kept yet. */
  readonly maxAhead: number;
}

/**
 * Visits positions concurrently, never further than `maxAhead` beyond the position that was kept, which is all that has to be
 * repeated after a crash.
 */
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

  /** Every position before this one has ended. */
  get low(): number {
    return this.ahead;
  }

  get isOver(): boolean {
    return this.ahead >= this.stretch.total;
  }

  get isAllKept(): boolean {
    return this.ahead === this.kept;
  }

  /** Confirms that every position before this one is recorded, so that the walk may go on. */
  keep(position: number): void {
    this.kept = position;
    this.wake();
  }

  /** Begins no further visit. */
  stop(): void {
    this.stopped = true;
    this.wake();
  }

  /** Visits until the end or `stop`. Resolves when every visit that was begun has ended. */
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
