/** Work that is done in rounds, never two at once; whoever wakes it during a round gets another one after it. */
export class CoalescingRunner {
  private running: Promise<void> | undefined;
  private again = false;
  private stopped = false;

  /** `round` never rejects, and answers whether more is to be done at once. */
  constructor(private readonly round: () => Promise<boolean>) {}

  wake(): void {
    if (this.stopped) return;
    this.again = true;
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  /** Resolves when the round that is under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.again && !this.stopped) {
      this.again = false;
      if (await this.round()) this.again = true;
    }
  }
}
