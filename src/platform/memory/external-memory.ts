import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory of bytes that share it with nobody. */
function exclusiveBufferOf({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined;
}

/** Bytes as a buffer that can be transferred to a thread: itself when it shares its memory with nobody, as large ones do, else a copy. */
export function transferable(bytes: Uint8Array): ArrayBuffer {
  return exclusiveBufferOf(bytes) ?? new Uint8Array(bytes).buffer;
}

/**
 * Gives the memory of bytes back at once, when they have it to themselves; they have no length any more. V8 would look for it through all
 * of its heap, each time that there are 64 MB of such.
 */
export function detachBuffer(bytes: Uint8Array): void {
  exclusiveBufferOf(bytes)?.transfer(0);
}

/** Less gains nothing more; a collection of what is young takes about a millisecond. */
const ENOUGH_BYTES = 8 * 1024 * 1024;

let passed = 0;
let collectYoung: (() => void) | undefined;

/**
 * Reports bytes that pass through this process and are needed for a short time only. Their memory is outside of V8's heap, which fills slowly
 * then: V8 would let 64 MB of them lie and go through all of its heap for them. So what is young is collected each time that enough have
 * passed, and the same memory, which the caches know, serves again.
 */
export function collectAfter(bytes: Uint8Array): void {
  passed += bytes.length;
  if (passed < ENOUGH_BYTES) return;
  passed = 0;
  collectYoung ??= collector();
  collectYoung();
}

/** V8 hands it out on demand only: to code that is compiled after it was asked for. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NonNullable<typeof gc>;
  setFlagsFromString('--no-expose-gc');
  return () => collect({ type: 'minor' });
}
