import { Injectable } from '@nestjs/common';
import { Problem } from '../../errors/problem.js';
import { BODY_MEMORY_BYTES, LARGE_BODY_MEMORY_BYTES } from './body-limits.js';

/** Minimum number of bytes counted per body, which limits the number of bodies. */
const MIN_BYTES = 128 * 1024;
/**
 * A caller may hold up to this many times the free memory. A single caller gets at most three quarters, and even if many callers use their full share, some
 * memory remains for the next caller (dynamic threshold of shared buffers, Choudhury and Hahne 1998).
 */
const SHARE_OF_FREE = 3;
const MAX_WAIT_SECONDS = 30;
/** Minimum time over which the release rate is measured. */
const SPAN_MS = 2000;

/** BodyLease holds the memory of one body until every holder has released it. */
export class BodyLease {
  private holders = 1;

  constructor(private readonly onFree: () => void) {}

  hold(): void {
    this.holders += 1;
  }

  release(): void {
    this.holders -= 1;
    if (this.holders === 0) this.onFree();
  }
}

/** Usage counts bytes by caller. */
class Usage {
  total = 0;
  private readonly byCaller = new Map<string, number>();

  of(caller: string): number {
    return this.byCaller.get(caller) ?? 0;
  }

  add(caller: string, bytes: number): void {
    this.total += bytes;
    const now = this.of(caller) + bytes;
    if (now === 0) this.byCaller.delete(caller);
    else this.byCaller.set(caller, now);
  }
}

/** BodyMemory limits the memory of large bodies, and the share of each caller. A body that does not fit is rejected with the estimated Retry-After. */
@Injectable()
export class BodyMemory {
  /** Bytes held by bodies in the shared memory. */
  private readonly shared = new Usage();
  /** Bytes held by bodies that are counted separately. */
  private readonly large = new Usage();
  private span = { since: 0, bytes: 0 };
  /** Rate at which memory is released, in bytes per millisecond. */
  private pace = BODY_MEMORY_BYTES / 10_000;

  /**
   * Reserves memory for a body until the lease is released.
   *
   * @param caller ID of the principal that sends the body
   * @throws Problem 429 `request.busy`
   */
  take(bytes: number, caller: string): BodyLease {
    const size = Math.max(bytes, MIN_BYTES);
    // A large body is counted separately, because a large body would never fit among many small bodies.
    if (size > BODY_MEMORY_BYTES / 2) return this.takeLarge(size, caller);
    const free = BODY_MEMORY_BYTES - this.shared.total - size;
    const own = this.shared.of(caller) + size;
    if (free < 0 || own > SHARE_OF_FREE * free) throw this.refusal(this.shared.total);
    if (this.shared.total === 0) this.span = { since: performance.now(), bytes: 0 };
    this.shared.add(caller, size);
    return new BodyLease(() => this.leave(size, caller));
  }

  /** Reserves memory for a large body. A caller that already holds a large body may hold more only within half of the memory. */
  private takeLarge(size: number, caller: string): BodyLease {
    const own = this.large.of(caller);
    const isFull = this.large.total > 0 && this.large.total + size > LARGE_BODY_MEMORY_BYTES;
    if (isFull || (own > 0 && own + size > LARGE_BODY_MEMORY_BYTES / 2)) throw this.refusal(this.large.total);
    this.large.add(caller, size);
    return new BodyLease(() => this.large.add(caller, -size));
  }

  private leave(size: number, caller: string): void {
    this.shared.add(caller, -size);
    this.span.bytes += size;
    const elapsed = performance.now() - this.span.since;
    if (elapsed < SPAN_MS) return;
    this.pace = this.span.bytes / elapsed;
    this.span = { since: performance.now(), bytes: 0 };
  }

  /** Returns the refusal. Retry-After is the estimated time to release the bodies admitted earlier, with jitter to spread retries. */
  private refusal(before: number): Problem {
    const seconds = (before / this.pace / 1000) * (0.5 + Math.random());
    const retryAfter = Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil(seconds)));
    const detail = `The service is overloaded. Retry after ${retryAfter} seconds.`;
    return new Problem('overloaded', 'request.busy', detail, { retryAfter });
  }
}
