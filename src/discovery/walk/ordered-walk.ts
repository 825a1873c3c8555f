interface Stretch {
  readonly first: number;
  readonly total: number;
  /** Visits that are under way or not yet written down, at most. */
  readonly most: number;
}

/**
 * Visits positions with many at once, never further than `most` beyond what has been written down: that is all that a crash makes to be
 * done again.
 */
export class OrderedWalk {
  private readonly ended = new Set<number>();
  private next: number;
  private kept: number;
  private ahead: number;
  private stopped = false;
  private turn = Promise.withResolvers<void>();

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

  /** Every position before this one has been written down. */
  keep(position: number): void {
    this.kept = position;
    this.wake();
  }

  /** Begins no visit any more. */
  stop(): void {
    this.stopped = true;
    this.wake();
  }

  /** Resolves when every visit that was begun has ended. */
  async run(visit: (position: number) => Promise<void>): Promise<void> {
    const { first, total, most } = this.stretch;
    const lanes = Array.from({ length: Math.min(most, total - first) }, () => this.worker(visit));
    try {
      await Promise.all(lanes);
    } finally {
      this.stop();
      await Promise.allSettled(lanes);
    }
  }

  private async worker(visit: (position: number) => Promise<void>): Promise<void> {
    const { total, most } = this.stretch;
    for (;;) {
      while (!this.stopped && this.next - this.kept >= most) await this.turn.promise;
      if (this.stopped || this.next >= total) return;
      const position = this.next;
      this.next += 1;
      await visit(position);
      this.ended.add(position);
      while (this.ended.delete(this.ahead)) this.ahead += 1;
    }
  }

  private wake(): void {
    this.turn.resolve();
    this.turn = Promise.withResolvers();
  }
}
