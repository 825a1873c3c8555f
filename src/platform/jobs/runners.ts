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

/** A look that is repeated, never two at once. The process does not stay up for it. */
export class RepeatedLook {
  private readonly flight: SingleFlight;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly everyMs: number,
    private readonly look: () => Promise<void>,
    failed: (error: unknown) => void,
  ) {
    this.flight = new SingleFlight(failed);
  }

  /** Resolves when the first look has ended. */
  async begin(): Promise<void> {
    await this.flight.run(this.look);
    this.timer = setInterval(() => void this.flight.run(this.look), this.everyMs);
    this.timer.unref();
  }

  /** Resolves when the look that is under way has ended. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flight.stop();
  }
}

/** Work that is done in rounds, never two at once: a wake-up during a round is followed by another round. */
export class CoalescingRunner {
  private readonly flight: SingleFlight;
  private again = false;

  /** @param round answers whether more is to be done at once. */
  constructor(
    private readonly round: () => Promise<boolean>,
    failed: (error: unknown) => void,
  ) {
    this.flight = new SingleFlight(failed);
  }

  get isStopping(): boolean {
    return this.flight.isStopping;
  }

  wake(): void {
    this.again = true;
    void this.flight.run(() => this.rounds());
  }

  /** Resolves when the round that is under way has ended. */
  stop(): Promise<void> {
    return this.flight.stop();
  }

  private async rounds(): Promise<void> {
    while (this.again && !this.isStopping) {
      this.again = false;
      if (await this.round()) this.again = true;
    }
  }
}

/** Rounds of several topics: each topic's are begun after a commit of this process, and every `everyMs` when something waits. */
export class TopicRunners<Topic extends string> {
  private readonly runners = new Map<Topic, CoalescingRunner>();
  private readonly looks = new SingleFlight(() => this.wakeAll([...this.runners.keys()]));
  private timer: NodeJS.Timeout | undefined;

  /** @param waiting answers of which of the topics something waits: one look for all of them, which mostly finds nothing. */
  constructor(
    private readonly everyMs: number,
    private readonly waiting: (topics: Topic[]) => Promise<Topic[]>,
  ) {}

  serve(topic: Topic, round: () => Promise<boolean>, failed: (error: unknown) => void): void {
    this.runners.set(topic, new CoalescingRunner(round, failed));
    this.timer ??= setInterval(() => void this.looks.run(() => this.look()), this.everyMs);
  }

  wake(topic: Topic): void {
    this.runners.get(topic)?.wake();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all([this.looks, ...this.runners.values()].map((one) => one.stop()));
  }

  /** When it fails, every topic is woken: where the reason is the database, their rounds fail as well and say so. */
  private async look(): Promise<void> {
    this.wakeAll(await this.waiting([...this.runners.keys()]));
  }

  private wakeAll(topics: readonly Topic[]): void {
    for (const topic of topics) this.wake(topic);
  }
}
