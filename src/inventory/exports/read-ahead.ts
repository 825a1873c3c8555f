/** Of what comes one by one, the next is asked for before it is needed. */
export class ReadAhead<Item> {
  private ahead: Promise<IteratorResult<Item, void>>;

  constructor(private readonly items: AsyncGenerator<Item, void, undefined>) {
    this.ahead = this.ask();
  }

  /** Undefined when there are no more. */
  async next(): Promise<Item | undefined> {
    const { value, done } = await this.ahead;
    if (done !== true) this.ahead = this.ask();
    return value ?? undefined;
  }

  /** Waits for what was asked for; nothing more comes. */
  async end(): Promise<void> {
    await Promise.allSettled([this.ahead, this.items.return()]);
  }

  private ask(): Promise<IteratorResult<Item, void>> {
    const asked = this.items.next();
    asked.catch(() => undefined); // heard of when its turn comes
    return asked;
  }
}
