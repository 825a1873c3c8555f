/**
 * Gives the memory of bytes back at once, when they have it to themselves; they have no length any more. V8 would look for it through all
 * of its heap, each time that there are 64 MB of such.
 */
export function freeMemoryOf({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
