/**
 * FairQueue serves callers in turn: each entry of a caller waits for at most one entry of every other caller, regardless of the number of queued entries.
 * Entries of one caller keep their order.
 */
export class FairQueue<Entry> {
  /** Waiting entries by caller. The first caller is served next. */
  private readonly lines = new Map<string, Entry[]>();
  private count = 0;

  /** Number of waiting entries. */
  get size(): number {
    return this.count;
  }

  push(caller: string, entry: Entry): void {
    this.count += 1;
    const line = this.lines.get(caller);
    if (line === undefined) this.lines.set(caller, [entry]);
    else line.push(entry);
  }

  /**
   * Removes and returns the next entry. Its caller moves to the end of the queue.
   *
   * @param isServed returns whether a caller's entries are considered; by default, the entries of all callers are considered
   */
  shift(isServed: (caller: string) => boolean = () => true): Entry | undefined {
    for (const [caller, line] of this.lines) {
      if (!isServed(caller)) continue;
      const entry = line.shift();
      this.count -= 1;
      this.lines.delete(caller);
      if (line.length > 0) this.lines.set(caller, line);
      return entry;
    }
    return undefined;
  }

  /** Removes and returns at most `max` entries, in turn. */
  take(max: number): Entry[] {
    const taken: Entry[] = [];
    while (taken.length < max && this.count > 0) taken.push(this.shift() as Entry);
    return taken;
  }

  /** Removes and returns all entries. */
  clear(): Entry[] {
    this.count = 0;
    const all = [...this.lines.values()].flat();
    this.lines.clear();
    return all;
  }
}
