/** SingleFlight allows one run of the work at a time in this process. A call during a run joins that run. */
export class SingleFlight {
  private running: Promise<void> | undefined;
  private stopped = false;

  /** @param failed called with the error of a failed run, which counts as ended */
  constructor(private readonly failed: (error: unknown) => void) {}

  get isStopping(): boolean {
    return this.stopped;
  }

  /** Runs `work` unless a run is in progress or the process is stopping. Never rejects. */
  run(work: () => Promise<unknown>): Promise<void> {
    if (this.stopped) return Promise.resolve();
    this.running ??= work()
      .then(() => undefined, this.failed)
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  /** Prevents further runs and resolves when the current run has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }
}
