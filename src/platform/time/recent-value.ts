/** A value that is read again when it is older than `maxAgeMs`. Parallel readers share one reading; a failed one is not kept. */
export class RecentValue<Value> {
  private readonly maxAgeMs: number;
  private readonly read: () => Promise<Value>;
  private value: Promise<Value> | undefined;
  private readAt = -Infinity;

  constructor(maxAgeMs: number, read: () => Promise<Value>) {
    [this.maxAgeMs, this.read] = [maxAgeMs, read];
  }

  /** Rejects as `read` does. */
  get(): Promise<Value> {
    if (this.value !== undefined && performance.now() - this.readAt < this.maxAgeMs) return this.value;
    const value = this.read();
    [this.value, this.readAt] = [value, performance.now()];
    value.catch(() => {
      if (this.value === value) this.value = undefined;
    });
    return value;
  }

  /** The next reader reads again. */
  forget(): void {
    this.value = undefined;
  }
}
