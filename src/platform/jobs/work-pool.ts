import { SingleFlight } from './runners.js';

/** A kind of work that is claimed from rows. */
export interface ClaimedWork<Work> {
  /** How many a process has in hand at most. */
  readonly most: number;
  /** Claims what is due, at most so many; nothing when nothing is. */
  claim(capacity: number): Promise<readonly Work[]>;
  run(work: Work): Promise<void>;
  /** Hears what kept this work from its end, or any from being claimed. It stays in its row, and is claimed again. */
  failed(error: unknown, work?: Work): void;
}

/** What this process has in hand of one kind of work: it takes on what is due when it is told to look, and when something ends. */
export class WorkPool<Work> {
  private readonly running = new Set<Promise<void>>();
  private readonly filling: SingleFlight;

  constructor(private readonly kind: ClaimedWork<Work>) {
    this.filling = new SingleFlight((error) => this.kind.failed(error));
  }

  /** From then on work should be put down where that is possible. */
  get isStopping(): boolean {
    return this.filling.isStopping;
  }

  /** Takes on what is due, as far as there is room. Never fails. */
  fill(): Promise<void> {
    return this.filling.run(() => this.take());
  }

  /** Takes on nothing more and waits for what is in hand. */
  async stop(): Promise<void> {
    await this.filling.stop();
    await Promise.all(this.running);
  }

  private async take(): Promise<void> {
    for (let capacity = this.capacity(); capacity > 0; capacity = this.capacity()) {
      const claimed = await this.kind.claim(capacity);
      if (claimed.length === 0) return;
      for (const work of claimed) this.start(work);
    }
  }

  private capacity(): number {
    return this.isStopping ? 0 : this.kind.most - this.running.size;
  }

  private start(work: Work): void {
    const run = this.kind
      .run(work)
      .catch((error: unknown) => this.kind.failed(error, work))
      .finally(() => {
        this.running.delete(run);
        void this.fill();
      });
    this.running.add(run);
  }
}
