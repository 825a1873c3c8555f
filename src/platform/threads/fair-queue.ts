/**
 * FairQueue serves callers in turn: for each of their entries, a caller waits for at most one entry of every other caller, however many are queued. Entries of
 * one caller keep their order.
 */
export class FairQueue<Entry> {
  /** Waiting entries by caller. The first caller is served next. */
  private readonly lines = new Map<string, Entry[]>();

  push(caller: string, entry: Entry): void {
    const line = this.lines.get(caller);
    if (line === undefined) this.lines.set(caller, [entry]);
    else line.push(entry);
  }

  /**
   * Removes and returns the next entry. Its caller moves to the end of the queue.
   *
   * @param isServed returns whether a caller's entries are considered; by default, all are
   */
  shift(isServed: (caller: string) => boolean = () => true): Entry | undefined {
    for (const [caller, line] of this.lines) {
      if (!isServed(caller)) continue;
      const entry = line.shift();
      this.lines.delete(caller);
      if (line.length > 0) this.lines.set(caller, line);
      return entry;
    }
    return undefined;
  }

  /** Removes and returns all entries. */
  clear(): Entry[] {
    const all = [...this.lines.values()].flat();
    this.lines.clear();
    return all;
  }
}
