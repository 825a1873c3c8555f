import { SingleFlight } from './single-flight.js';

/** ClaimedWork is a kind of work that is claimed from rows. */
export interface ClaimedWork<Work> {
  /** Maximum number of items that run concurrently in a process. */
  readonly max: number;
  /** Claims at most `capacity` due items. Returns an empty list if no items are due. */
  claim(capacity: number): Promise<readonly Work[]>;
  run(work: Work): Promise<void>;
  /** Handles the error of failed work. The row remains and is claimed again. */
  failed(error: unknown, work: Work): void;
}

/** WorkPool runs work of one kind with bounded concurrency. Due work is claimed when `fill` is called and whenever an item ends. */
export class WorkPool<Work> {
  private readonly running = new Set<Promise<void>>();
  private readonly filling = new SingleFlight((error) => (this.claimFault = error));
  private claimFault: unknown;

  constructor(private readonly kind: ClaimedWork<Work>) {}

  /** Whether `stop` was called. Work that can be resumed later should then end. */
  get isStopping(): boolean {
    return this.filling.isStopping;
  }

  /** Claims and starts due work up to the capacity. Rejects if claiming fails. */
  async fill(): Promise<void> {
    this.claimFault = undefined;
    await this.filling.run(() => this.take());
    if (this.claimFault !== undefined) throw this.claimFault;
  }

  /** Stops claiming work and waits for running work. */
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
    return this.isStopping ? 0 : this.kind.max - this.running.size;
  }

  private start(work: Work): void {
    const run = this.kind
      .run(work)
      .catch((error: unknown) => this.kind.failed(error, work))
      .finally(() => {
        this.running.delete(run);
        // Errors are ignored here: the background job that fills the pool reports them.
        this.fill().catch(() => undefined);
      });
    this.running.add(run);
  }
}
