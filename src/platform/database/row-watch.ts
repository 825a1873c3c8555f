/** A row as a watch sees it: what changes is in the mark. */
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
 * Lets callers wait until rows change. Changes by this process come by `hint`; for the rest one query per look covers everybody
 * who waits, however many they are.
 */
export class RowWatch {
  private readonly watchers = new Map<string, Set<Watcher>>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  /** `read` answers the marks of these rows as they are now. */
  constructor(private readonly read: (ids: string[]) => Promise<Marked[]>) {}

  /** Reads the row again each time it changes, until it is `final` or `seconds` are over. */
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

  /** Resolves when the row's mark is another, when it was hinted at, after `ms`, or at a stop; the caller looks what it is. */
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

  /** At a stop nobody is kept waiting: they get the state as it is, before the server waits for the last answers. */
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
      // A look that failed is made up for by the next one; callers have their own deadline.
    } finally {
      this.timer =
        this.watchers.size > 0 && !this.stopped ? setTimeout(() => void this.look(), LOOK_EVERY_MS) : undefined;
    }
  }
}
