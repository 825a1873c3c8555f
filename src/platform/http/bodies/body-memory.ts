import { Injectable } from '@nestjs/common';
import { Problem } from '../../errors/problem.js';
import { BODY_MEMORY_BYTES, LARGE_BODY_MEMORY_BYTES } from './body-limits.js';

/** A body counts for so much at least, which bounds how many there are. */
const MIN_BYTES = 128 * 1024;
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

/** Bounds the memory of large bodies. What does not fit is refused with a Retry-After for when it probably will. */
@Injectable()
export class BodyMemory {
  /** Bytes of bodies in the shared memory. */
  private used = 0;
  /** Bytes of bodies that are counted apart. */
  private large = 0;
  private span = { since: 0, bytes: 0 };
  /** Bytes per millisecond that are released. */
  private pace = BODY_MEMORY_BYTES / 10_000;

  /** @throws Problem 429 `request.busy`. */
  take(bytes: number): BodyLease {
    const size = Math.max(bytes, MIN_BYTES);
    // A large body is counted apart: among many small ones it would never fit.
    if (size > BODY_MEMORY_BYTES / 2) return this.takeLarge(size);
    if (this.used + size > BODY_MEMORY_BYTES) throw this.refusal(this.used);
    if (this.used === 0) this.span = { since: performance.now(), bytes: 0 };
    this.used += size;
    return new BodyLease(() => this.leave(size));
  }

  private takeLarge(size: number): BodyLease {
    if (this.large > 0 && this.large + size > LARGE_BODY_MEMORY_BYTES) throw this.refusal(this.large);
    this.large += size;
    return new BodyLease(() => (this.large -= size));
  }

  private leave(size: number): void {
    this.used -= size;
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
    const detail = `More is sent than can be worked off; send it again in ${retryAfter} seconds.`;
    return new Problem('overloaded', 'request.busy', detail, { retryAfter });
  }
}
