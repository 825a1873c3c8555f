/** Maximum age of a cached value, which is half of the time within which a revocation is guaranteed to take effect. */
const BELIEVED_MS = 2500;
/** Time after `forget` for which reads of a key are not cached, because the transaction that changes the row may not have committed yet. */
const UNSETTLED_MS = 10_000;
const MAX_ENTRIES = 10_000;

interface Memory<Row> {
  readonly until: number;
  readonly row: Promise<Row | null>;
}

/**
 * TtlCache caches rows that every request needs (API keys, users), so that a busy caller causes one lookup every few seconds. Concurrent lookups of a key share
 * one query.
 */
export class TtlCache<Row> {
  private readonly memories = new Map<string, Memory<Row>>();
  /** Keys whose reads are not cached, with the time at which caching resumes. */
  private readonly unsettled = new Map<string, number>();

  constructor(private readonly read: (key: string) => Promise<Row | null>) {}

  find(key: string): Promise<Row | null> {
    const now = performance.now();
    const memory = this.memories.get(key);
    if (memory !== undefined && memory.until > now) return memory.row;
    if ((this.unsettled.get(key) ?? 0) > now) return this.read(key);
    if (this.memories.size >= MAX_ENTRIES) this.memories.clear();
    const row = this.read(key);
    this.memories.set(key, { until: now + BELIEVED_MS, row });
    // Missing rows and errors are not cached.
    row.then(
      (found) => (found === null ? this.memories.delete(key) : undefined),
      () => this.memories.delete(key),
    );
    return row;
  }

  /**
   * Makes the next lookup of a key read its row, for a caller that cannot rely on a cached row. Unlike after `forget`, the result of this lookup is cached,
   * because the row is not being changed.
   */
  expire(key: string): void {
    this.memories.delete(key);
  }

  /** Invalidates a key, in or after the transaction that changes its row. Reads that begin before the commit are not cached either. */
  forget(key: string): void {
    const now = performance.now();
    this.memories.delete(key);
    if (this.unsettled.size >= MAX_ENTRIES)
      for (const [old, until] of this.unsettled) if (until <= now) this.unsettled.delete(old);
    this.unsettled.set(key, now + UNSETTLED_MS);
  }
}
