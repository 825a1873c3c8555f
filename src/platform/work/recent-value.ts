/** RecentValue caches a value for `maxAgeMs`. Concurrent readers share one read. Failed reads are not cached. */
export class RecentValue<Value> {
  private readonly maxAgeMs: number;
  private readonly read: () => Promise<Value>;
  private value: Promise<Value> | undefined;
  private readAt = -Infinity;

  constructor(maxAgeMs: number, read: () => Promise<Value>) {
    [this.maxAgeMs, this.read] = [maxAgeMs, read];
  }

  /** Returns the value. Rejects if `read` rejects. */
  get(): Promise<Value> {
    if (this.value !== undefined && performance.now() - this.readAt < this.maxAgeMs) return this.value;
    const value = this.read();
    [this.value, this.readAt] = [value, performance.now()];
    value.catch(() => {
      if (this.value === value) this.value = undefined;
    });
    return value;
  }

  /** Discards the cached value. */
  forget(): void {
    this.value = undefined;
  }
}
