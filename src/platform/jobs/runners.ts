/** Work that never runs twice at once in this process: a call that comes during a run joins it. */
export class SingleFlight {
  private running: Promise<void> | undefined;
  private stopped = false;

  /** @param failed is called with the error of a run that failed; the run then counts as ended. */
  constructor(private readonly failed: (error: unknown) => void) {}

  get isStopping(): boolean {
    return this.stopped;
  }

  /** Runs `work`, unless a run is under way or the process stops. Never rejects. */
  run(work: () => Promise<unknown>): Promise<void> {
    if (this.stopped) return Promise.resolve();
    this.running ??= work()
      .then(() => undefined, this.failed)
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  /** Begins nothing more. Resolves when the run that is under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }
}
