import { Injectable } from '@nestjs/common';
import { Problem } from '../../errors/problem.js';
import { BODY_MEMORY_BYTES, LARGE_BODY_MEMORY_BYTES } from './body-limits.js';

/** A body counts for so much at least, which bounds how many there are. */
const MIN_BYTES = 128 * 1024;
/**
 * A caller may hold this many times the memory that is left free. One caller alone gets three quarters, and however many callers take all that
 * they get, some is left for the next one (dynamic threshold of shared buffers, Choudhury and Hahne 1998).
 */
const SHARE_OF_FREE = 3;
const MAX_WAIT_SECONDS = 30;
/** The pace is that of the last span of at least this length. */
const SPAN_MS = 2000;

/** Memory of one body, kept until every holder has released it. */
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

/** Bounds the memory of large bodies, and the share of each caller in it. What does not fit is refused with a Retry-After for when it probably will. */
@Injectable()
export class BodyMemory {
  /** Bytes of bodies in the shared memory. */
  private readonly shared = new Usage();
  /** Bytes of bodies that are counted apart. */
  private readonly large = new Usage();
  private span = { since: 0, bytes: 0 };
  /** Bytes per millisecond that are released. */
  private pace = BODY_MEMORY_BYTES / 10_000;

  /** @param caller id of the principal that sends the body. @throws Problem 429 `request.busy`. */
  take(bytes: number, caller: string): BodyLease {
    const size = Math.max(bytes, MIN_BYTES);
    // A large body is counted apart: among many small ones it would never fit.
    if (size > BODY_MEMORY_BYTES / 2) return this.takeLarge(size, caller);
    const free = BODY_MEMORY_BYTES - this.shared.total - size;
    const own = this.shared.of(caller) + size;
    if (free < 0 || own > SHARE_OF_FREE * free) throw this.refusal(this.shared.total);
    if (this.shared.total === 0) this.span = { since: performance.now(), bytes: 0 };
    this.shared.add(caller, size);
    return new BodyLease(() => this.leave(size, caller));
  }

  /** Beside a large body of their own, a caller may hold others in one half of the memory. */
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

  /**
   * Clients wait as long as it takes to release what was admitted before them, with jitter, so that they do not come back together.
   */
  private refusal(before: number): Problem {
    const seconds = (before / this.pace / 1000) * (0.5 + Math.random());
    const retryAfter = Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil(seconds)));
    const detail = `The service is overloaded. Retry after ${retryAfter} seconds.`;
    return new Problem('overloaded', 'request.busy', detail, { retryAfter });
  }
}
