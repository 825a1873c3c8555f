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
