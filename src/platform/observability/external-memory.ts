import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Returns the buffer of the bytes if no other array shares the buffer; otherwise undefined. */
function exclusiveBufferOf({ buffer, byteLength }: Uint8Array): ArrayBuffer | undefined {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : undefined;
}

/**
 * transferable returns a buffer that can be transferred to a thread: the original buffer if the buffer is not shared, as with large arrays, otherwise a copy.
 */
export function transferable(bytes: Uint8Array): ArrayBuffer {
  return exclusiveBufferOf(bytes) ?? new Uint8Array(bytes).buffer;
}

/**
 * detachBuffer frees the memory of the bytes immediately, unless the memory is shared. The bytes then have length 0. Without detachBuffer, V8 would collect
 * garbage in its whole heap after every 64 MB of external memory.
 */
export function detachBuffer(bytes: Uint8Array): void {
  exclusiveBufferOf(bytes)?.transfer(0);
}

/** Number of bytes after which a minor collection runs, which takes about a millisecond. A lower value has no further benefit. */
const ENOUGH_BYTES = 8 * 1024 * 1024;

let passed = 0;
let collectYoung: (() => void) | undefined;

/**
 * collectAfter counts bytes that are needed only briefly, and runs a minor collection after every ENOUGH_BYTES, so that memory that is still in the CPU
 * cache is reused. The memory of the bytes is outside V8's heap, which therefore fills slowly, so V8 would otherwise keep 64 MB and then collect its whole
 * heap.
 */
export function collectAfter(bytes: Uint8Array): void {
  passed += bytes.length;
  if (passed < ENOUGH_BYTES) return;
  passed = 0;
  collectYoung ??= collector();
  collectYoung();
}

/** Returns a function that runs a minor collection. V8 exposes `gc` only to code that is compiled after the flag was set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NonNullable<typeof gc>;
  setFlagsFromString('--no-expose-gc');
  return () => collect({ type: 'minor' });
}
