import { Injectable } from '@nestjs/common';
import { Problem } from '../../errors/problem.js';
import { constrainedMemory } from 'node:process';
import { totalmem } from 'node:os';

const MB = 1024 * 1024;

/** The largest body that any route takes. */
export const LARGEST_BODY_BYTES = 256 * MB;
/** Of all large bodies that a process holds at once: while they arrive, wait, and are worked on. */
export const ROOM_BYTES = 64 * MB;

/** What a container was given, or the machine has. */
const MEMORY = Math.min(totalmem(), constrainedMemory() || Infinity);
/** Until it is written, a document takes five times the memory that its body has. */
const PART_OF_MEMORY = 32;
/** Of bodies that fill most of the room by themselves. Where it is less than one may have, that one comes in alone. */
export const LARGE_ROOM_BYTES = Math.round(
  Math.min(2 * LARGEST_BODY_BYTES, Math.max(128 * MB, MEMORY / PART_OF_MEMORY)),
);

/** A body counts for so much at least, which bounds how many there are. */
const MIN_BYTES = 128 * 1024;
const LONGEST_WAIT_SECONDS = 30;
/** The pace is that of the last span of at least this length. */
const SPAN_MS = 2000;

/** Room for one body, kept until everybody who works with the body has let go. */
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

/** Bounds the memory that large bodies take, and the time that they wait: whoever finds no room is told when to come back. */
@Injectable()
export class BodyRoom {
  /** Bytes of those that share the room. */
  private used = 0;
  /** Bytes of those that came in besides. */
  private large = 0;
  private span = { since: 0, bytes: 0 };
  /** Bytes per millisecond that leave. */
  private pace = ROOM_BYTES / 10_000;

  /** @throws Problem 429 `request.busy`. */
  take(bytes: number): BodyLease {
    const size = Math.max(bytes, MIN_BYTES);
    // A body that fills most of the room comes in besides: among many small ones it would never find room.
    if (size > ROOM_BYTES / 2) return this.takeLarge(size);
    if (this.used + size > ROOM_BYTES) throw this.refusal(this.used);
    if (this.used === 0) this.span = { since: performance.now(), bytes: 0 };
    this.used += size;
    return new BodyLease(() => this.leave(size));
  }

  private takeLarge(size: number): BodyLease {
    if (this.large > 0 && this.large + size > LARGE_ROOM_BYTES) throw this.refusal(this.large);
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
   * They are sent away for as long as it takes until those before them have left, each for a time of its own, so that they do not come
   * back together.
   */
  private refusal(before: number): Problem {
    const seconds = (before / this.pace / 1000) * (0.5 + Math.random());
    const retryAfter = Math.min(LONGEST_WAIT_SECONDS, Math.max(1, Math.ceil(seconds)));
    const detail = `More is sent than can be worked off; send it again in ${retryAfter} seconds.`;
    return new Problem('overloaded', 'request.busy', detail, { retryAfter });
  }
}
