/** Marked identifies a row and its current state. The mark changes with the row. */
export interface Marked {
  readonly id: string;
  readonly mark: string;
}

interface Watcher {
  readonly mark: string;
  readonly wake: () => void;
}

const LOOK_EVERY_MS = 200;

/**
 * RowWatch lets callers wait until rows change. Changes by this process are signaled with `hint`. To detect other changes, one query per interval reads all
 * watched rows.
 */
export class RowWatch {
  private readonly watchers = new Map<string, Set<Watcher>>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  /** @param read returns the current marks of the rows */
  constructor(private readonly read: (ids: string[]) => Promise<Marked[]>) {}

  /** Returns the row once it is `final` or `seconds` have passed. Reads the row again after every change. */
  async until<Row>(
    id: string,
    seconds: number,
    read: () => Promise<{ row: Row; mark: string; final: boolean }>,
  ): Promise<Row> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      const { row, mark, final } = await read();
      const left = deadline - performance.now();
      if (final || left <= 0 || this.stopped) return row;
      await this.wait({ id, mark }, left);
    }
  }

  /** Resolves when the mark changes, after a hint, after `ms`, or on shutdown. The caller reads the row to find out what happened. */
  async wait({ id, mark }: Marked, ms: number): Promise<void> {
    if (this.stopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const watcher = { mark, wake: resolve };
    const waiting = this.watchers.get(id) ?? new Set();
    this.watchers.set(id, waiting.add(watcher));
    const deadline = setTimeout(resolve, ms);
    this.timer ??= setTimeout(() => void this.look(), LOOK_EVERY_MS);
    await promise;
    clearTimeout(deadline);
    waiting.delete(watcher);
    if (waiting.size === 0 && this.watchers.get(id) === waiting) this.watchers.delete(id);
  }

  get isStopped(): boolean {
    return this.stopped;
  }

  hint(id: string): void {
    for (const { wake } of this.watchers.get(id) ?? []) wake();
  }

  /** Wakes all waiting callers on shutdown, so that they return the current state before the server waits for its last responses. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    for (const id of this.watchers.keys()) this.hint(id);
  }

  private async look(): Promise<void> {
    try {
      for (const { id, mark } of await this.read([...this.watchers.keys()])) {
        for (const watcher of this.watchers.get(id) ?? []) if (watcher.mark !== mark) watcher.wake();
      }
    } catch {
      // The next poll compensates for a failed poll. Callers have their own deadlines.
    } finally {
      this.timer =
        this.watchers.size > 0 && !this.stopped ? setTimeout(() => void this.look(), LOOK_EVERY_MS) : undefined;
    }
  }
}
