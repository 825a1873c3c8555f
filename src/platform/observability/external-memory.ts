import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns the buffer of bytes that do not share it with others. */
function exclusiveBufferOf({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined;
}

/** transferable returns a buffer that can be transferred to a thread: the original if it is not shared, as for large arrays, otherwise a copy. */
export function transferable(bytes: Uint8Array): ArrayBuffer {
  return exclusiveBufferOf(bytes) ?? new Uint8Array(bytes).buffer;
}

/**
 * detachBuffer frees the memory of bytes immediately, unless it is shared. The bytes then have length 0. Otherwise V8 scans its whole heap for free memory
 * after every 64 MB of external memory.
 */
export function detachBuffer(bytes: Uint8Array): void {
  exclusiveBufferOf(bytes)?.transfer(0);
}

/** A lower limit has no further benefit. A minor collection takes about a millisecond. */
const ENOUGH_BYTES = 8 * 1024 * 1024;

let passed = 0;
let collectYoung: (() => void) | undefined;

/**
 * collectAfter reports bytes that are needed only briefly. Their memory is outside V8's heap, which therefore fills slowly, so V8 would keep 64 MB of them and
 * then collect its whole heap. Instead, this function runs a minor collection after every ENOUGH_BYTES, so that memory that is still in the CPU cache is
 * reused.
 */
export function collectAfter(bytes: Uint8Array): void {
  passed += bytes.length;
  if (passed < ENOUGH_BYTES) return;
  passed = 0;
  collectYoung ??= collector();
  collectYoung();
}

/** V8 exposes `gc` only to code compiled after the flag was set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NonNullable<typeof gc>;
  setFlagsFromString('--no-expose-gc');
  return () => collect({ type: 'minor' });
}
